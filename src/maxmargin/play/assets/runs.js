// What the solvers have said so far: one run for each panel, made of the messages of maxmargin.play.fits.

export function makeRun(begin) {
  return { ...begin, frames: [], slices: {}, ended: null, offsets: [0] };
}

export function makeRefusedRun(message) {
  return { solver: message.solver, refused: message.sentence, frames: [], slices: {}, tasks: [], ended: null };
}

// Adds a frame; `latest` holds the newest frame of every task up to it, and `elapsed` the seconds of all tasks.
export function addFrame(run, frame) {
  const before = run.frames.at(-1);
  const latest = before ? [...before.latest] : run.tasks.map(() => null);
  const started = before && before.task === frame.task;
  const offset = started ? before.offset : before ? before.elapsed : 0;
  const placed = { ...frame, latest, offset, elapsed: offset + frame.seconds, place: started ? before.place + 1 : 0 };
  latest[frame.task] = placed;
  run.frames.push(placed);
}

export function findFrame(run, step) {
  return run.frames[Math.min(step, run.frames.length - 1)] ?? null;
}

export function countSteps(runs) {
  return Math.max(0, ...runs.map((run) => run.frames.length));
}

// The state of each point: "0" none, "1" a free support vector, "2" one at its bound; the largest over all tasks.
export function readSupport(run, frame, n) {
  const states = new Uint8Array(n);
  frame.latest.forEach((each, task) => {
    if (each) run.tasks[task].rows.forEach((row, k) => { states[row] = Math.max(states[row], Number(each.support[k])); });
  });
  return states;
}

// All functions on the grid that are known at a frame: one for each task, or one for each class.
export function listValues(frame) {
  return frame.latest.flatMap((each) => (each ? each.values : [null]));
}

// The class of every place of the grid, and how sure it is from 0 to 1; null before all tasks have begun.
export function classify(run, frame) {
  const values = listValues(frame);
  if (values.some((each) => each === null)) return null;
  const classes = new Uint8Array(values[0].length), sure = new Float32Array(values[0].length);
  for (let k = 0; k < classes.length; k++) {
    const scores = scorePlace(run, values, k);
    let best = 0;
    scores.forEach((score, label) => { if (score > scores[best]) best = label; });
    classes[k] = best;
    const others = Math.max(...scores.filter((_, label) => label !== best));
    sure[k] = Math.min(1, 0.35 + 0.65 * Math.abs(scores[best] - others) / 2);
  }
  return { classes, sure };
}

function scorePlace(run, values, k) {
  if (run.combine === "largest") return spreadLargest(run, values, k);
  const scores = [-1e9, -1e9, -1e9];
  run.tasks.forEach((task, t) => {
    const f = values[t][k];
    const [positive, negative] = task.positive.length ? [task.positive, task.negative] : [[0], [1]];
    for (const label of [...positive, ...negative]) if (scores[label] === -1e9) scores[label] = 0;
    const size = run.combine === "votes" ? 1 + Math.tanh(Math.abs(f)) / 100 : Math.min(1, Math.abs(f));
    for (const label of f > 0 ? positive : negative) scores[label] += size;
    for (const label of f > 0 ? negative : positive) scores[label] -= run.combine === "votes" ? 0 : size;
  });
  return scores;
}

function spreadLargest(run, values, k) {
  const scores = [-1e9, -1e9, -1e9];
  values.forEach((each, place) => { scores[run.tasks.length === 1 ? run.labels[place] : run.tasks[place].positive[0]] = each[k]; });
  return scores;
}
