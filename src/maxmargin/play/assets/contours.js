// Marching squares: the lines on which values over a grid cross a level, as chains of points in cells of the grid.

export function findContours(values, columns, rows, level) {
  const crossings = new Map(); // edge -> its point and the edges that it is joined to
  const at = (x, y) => values[y * columns + x] - level;
  const cross = (x, y, across) => { // across: the edge to the right of (x, y), else the one above it
    const key = 2 * (y * columns + x) + (across ? 0 : 1);
    if (!crossings.has(key)) {
      const low = at(x, y), high = across ? at(x + 1, y) : at(x, y + 1), share = low / (low - high);
      crossings.set(key, { point: across ? [x + share, y] : [x, y + share], joined: [] });
    }
    return key;
  };
  for (let y = 0; y < rows - 1; y++) {
    for (let x = 0; x < columns - 1; x++) joinCell(x, y, at, cross, crossings);
  }
  return traceChains(crossings);
}

function joinCell(x, y, at, cross, crossings) {
  const above = [at(x, y) > 0, at(x + 1, y) > 0, at(x + 1, y + 1) > 0, at(x, y + 1) > 0];
  const edges = [];
  if (above[0] !== above[1]) edges.push(cross(x, y, true));
  if (above[1] !== above[2]) edges.push(cross(x + 1, y, false));
  if (above[2] !== above[3]) edges.push(cross(x, y + 1, true));
  if (above[3] !== above[0]) edges.push(cross(x, y, false));
  const join = (a, b) => { crossings.get(a).joined.push(b); crossings.get(b).joined.push(a); };
  if (edges.length === 2) join(edges[0], edges[1]);
  if (edges.length === 4) { // a saddle: the mean decides which corners belong together
    const middle = (at(x, y) + at(x + 1, y) + at(x + 1, y + 1) + at(x, y + 1)) / 4 > 0;
    const [first, second] = middle === above[0] ? [[0, 1], [2, 3]] : [[0, 3], [1, 2]];
    join(edges[first[0]], edges[first[1]]);
    join(edges[second[0]], edges[second[1]]);
  }
}

function traceChains(crossings) {
  const used = new Set(), chains = [];
  const follow = (start) => {
    const chain = [];
    for (let key = start; key !== undefined && !used.has(key);) {
      used.add(key);
      chain.push(crossings.get(key).point);
      key = crossings.get(key).joined.find((next) => !used.has(next));
    }
    return chain;
  };
  for (const [key, { joined }] of crossings) if (joined.length === 1 && !used.has(key)) chains.push({ points: follow(key), closed: false });
  for (const key of crossings.keys()) if (!used.has(key)) chains.push({ points: follow(key), closed: true });
  return chains;
}
