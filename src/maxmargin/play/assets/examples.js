// Points to start with. The same numbers every time, so that a lecture can be repeated.

function makeRandom(seed) {
  let state = seed;
  return () => { // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function makeNormal(random) {
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

const round = (number) => Math.round(number * 1000) / 1000;

function makeMoons(n, random, normal) {
  return Array.from({ length: n }, (_, k) => {
    const angle = Math.PI * random(), lower = k % 2, sign = lower ? -1 : 1;
    return [1.5 * (sign * Math.cos(angle) + lower - 0.5) + 0.25 * normal(),
            1.5 * (sign * Math.sin(angle) + 0.5 * lower - 0.25) + 0.25 * normal(), lower];
  });
}

function makeRings(n, random, normal) {
  return Array.from({ length: n }, (_, k) => {
    const angle = 2 * Math.PI * random(), radius = k % 2 ? 2.1 : 0.9;
    return [radius * Math.cos(angle) + 0.25 * normal(), radius * Math.sin(angle) + 0.25 * normal(), k % 2];
  });
}

function makeClouds(centres, spread) {
  return (n, random, normal) => Array.from({ length: n }, (_, k) => {
    const label = k % centres.length, [x, y] = centres[label];
    return [x + spread * normal(), y + spread * normal(), label];
  });
}

function makeWave(n, random, normal) {
  return Array.from({ length: n }, () => {
    const x = 7 * random() - 3.5;
    return [x, 1.4 * Math.sin(1.6 * x) + 0.2 * x + 0.2 * normal()];
  });
}

function makeOutliers(n, random, normal) {
  return Array.from({ length: n }, (_, k) => {
    const x = 7 * random() - 3.5;
    return [x, 0.5 * x - 0.3 + (k % 9 === 0 ? 1.8 + 0.3 * normal() : 0.2 * normal())];
  });
}

const EXAMPLES = {
  classes: {
    "two moons": makeMoons, rings: makeRings, "two clouds": makeClouds([[-1, -0.6], [1, 0.6]], 0.75),
    "three clouds": makeClouds([[-1.6, -0.9], [1.6, -0.9], [0, 1.4]], 0.65),
  },
  curve: { wave: makeWave, "line with outliers": makeOutliers },
};

export function listExamples(kind) {
  return Object.keys(EXAMPLES[kind]);
}

export function makeExample(kind, name, n) {
  const random = makeRandom(7);
  return EXAMPLES[kind][name](n, random, makeNormal(random))
    .map((point) => point.map((number, k) => (k === 2 ? number : Math.max(-3.9, Math.min(3.9, round(number))))))
    .map(([x, y, ...rest]) => [x, Math.max(-2.9, Math.min(2.9, y)), ...rest]);
}
