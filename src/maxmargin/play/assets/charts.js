// The three small charts: the gap of every run, the duals of the current step, and the risk with its cuts.

import { makeElement, makePath, trim, writeNumber } from "./svg.js";
import { getTheme } from "./theme.js";

const SIZE = { width: 420, height: 250, left: 52, right: 12, top: 12, bottom: 34 };

function makeScale(low, high, from, to, logarithmic = false) {
  const read = logarithmic ? Math.log10 : (value) => value;
  const [a, b] = [read(low), read(high)], span = b - a || 1;
  return (value) => from + (read(value) - a) / span * (to - from);
}

const scaleX = (low, high, logarithmic) => makeScale(low, high, SIZE.left, SIZE.width - SIZE.right, logarithmic);
const scaleY = (low, high, logarithmic) => makeScale(low, high, SIZE.height - SIZE.bottom, SIZE.top, logarithmic);

function frameChart(parts, label) {
  return makeElement("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img", "aria-label": label }, parts.join(""));
}

function drawText(x, y, text, theme, attributes = {}) {
  return makeElement("text", { x: trim(x), y: trim(y), fill: theme.quiet, "font-size": 12, "font-family": "system-ui, sans-serif", ...attributes }, text);
}

// A number in the middle below its line, unless it would be cut off at the edge.
function anchorTick(at) {
  return at > SIZE.width - SIZE.right - 20 ? "end" : at < SIZE.left + 1 ? "start" : "middle";
}

function drawTicks(ticks, place, horizontal, theme) {
  return ticks.map(([value, text]) => {
    const at = place(value);
    const line = horizontal ? [[at, SIZE.top], [at, SIZE.height - SIZE.bottom]] : [[SIZE.left, at], [SIZE.width - SIZE.right, at]];
    const [x, y, anchor] = horizontal ? [at, SIZE.height - SIZE.bottom + 16, anchorTick(at)] : [SIZE.left - 6, at + 4, "end"];
    return makeElement("path", { d: makePath(line), stroke: theme.line, fill: "none" }) + drawText(x, y, text, theme, { "text-anchor": anchor });
  }).join("");
}

function listPowers(low, high, most) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const step = Math.max(1, Math.ceil((last - first + 1) / most)), ticks = [];
  for (let power = first; power <= last; power += step) {
    ticks.push([10 ** power, power >= -3 && power <= 4 ? writeNumber(10 ** power) : `1e${power}`]);
  }
  return ticks;
}

function listEven(low, high, most) {
  const rough = (high - low || 1) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= rough), ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) ticks.push([k * step, writeNumber(k * step)]);
  return ticks;
}

const MIN_SECONDS = 1e-5; // shorter times stand at the left edge
const MIN_GAP = 1e-12;

export function drawGap(runs, step, against) {
  const theme = getTheme(), time = against === "seconds";
  const read = (frame, k) => [time ? Math.max(frame.elapsed, MIN_SECONDS) : k + 1, Math.max(frame.gap ?? NaN, MIN_GAP)];
  const lines = runs.map((run) => run.frames.map(read));
  const known = lines.flat().filter(([, gap]) => Number.isFinite(gap));
  if (!known.length) return frameChart([drawText(SIZE.width / 2, SIZE.height / 2, "no gap yet", theme, { "text-anchor": "middle" })], "No gap yet");
  const xs = known.map(([x]) => x), gaps = known.map(([, gap]) => gap);
  const [lowX, highX] = [Math.min(...xs), Math.max(...xs)], lowGap = 10 ** Math.floor(Math.log10(Math.min(...gaps))), highGap = 10 ** Math.ceil(Math.log10(Math.max(...gaps)) + 1e-9);
  const logarithmic = time || highX > 200;
  const [left, right] = highX > lowX ? [lowX, highX] : [lowX * 0.9, lowX * 1.1];
  const x = scaleX(left, right, logarithmic), y = scaleY(lowGap, highGap, true);
  const powers = logarithmic ? listPowers(left, right, 6) : [];
  const parts = [drawTicks(powers.length > 1 ? powers : [[left, writeNumber(left, 2)], [right, writeNumber(right, 2)]], x, true, theme),
    drawTicks(listPowers(lowGap, highGap, 6), y, false, theme)];
  runs.forEach((run, panel) => parts.push(...drawGapLine(run, lines[panel], step, panel, x, y, theme)));
  parts.push(drawText(SIZE.width - SIZE.right, SIZE.height - 3, time ? "seconds of the solver" : "steps shown", theme, { "text-anchor": "end" }));
  return frameChart(parts, "The certified relative gap of each solver");
}

function drawGapLine(run, line, step, panel, x, y, theme) {
  const parts = [], stroke = theme.panels[panel];
  run.tasks.forEach((_, task) => {
    const points = line.filter(([, gap], k) => run.frames[k].task === task && Number.isFinite(gap));
    parts.push(makeElement("path", { d: makePath(points.map(([a, b]) => [x(a), y(b)])), stroke, "stroke-width": 2.2, fill: "none", "stroke-dasharray": panel ? "7 4" : "none" }));
  });
  const current = line[Math.min(step, line.length - 1)];
  if (current && Number.isFinite(current[1])) {
    parts.push(makeElement("circle", { cx: trim(x(current[0])), cy: trim(y(current[1])), r: 5, fill: stroke, stroke: theme.paper, "stroke-width": 1.5 }));
  }
  return parts;
}

export function drawDuals(run, frame) {
  const theme = getTheme();
  if (!frame) return frameChart([], "No duals yet");
  const highest = Math.max(1e-12, ...run.frames.filter((each) => each.task === frame.task).at(-1).duals.map(Math.abs), ...frame.duals.map(Math.abs));
  const lowest = frame.duals.some((each) => each < 0) ? -highest : 0;
  const x = scaleX(0, frame.duals.length), y = scaleY(lowest, highest), width = Math.max(0.8, Math.min(8, 0.8 * (x(1) - x(0))));
  const parts = [drawTicks(listEven(lowest, highest, 5), y, false, theme)];
  for (const [state, stroke] of [["1", theme.free], ["2", theme.bounded]]) {
    const bars = frame.duals.map((dual, k) => (frame.support[k] === state ? `M${trim(x(k + 0.5))} ${trim(y(0))}V${trim(y(dual))}` : "")).join("");
    parts.push(makeElement("path", { d: bars, stroke, "stroke-width": trim(width), fill: "none" }));
  }
  parts.push(makeElement("path", { d: makePath([[SIZE.left, y(0)], [SIZE.width - SIZE.right, y(0)]]), stroke: theme.quiet, fill: "none" }));
  parts.push(drawText(SIZE.width - SIZE.right, SIZE.height - 3, "points, in the order in which they were drawn", theme, { "text-anchor": "end" }));
  return frameChart(parts, "The duals of this step");
}

export function drawSlice(run, frame) {
  const theme = getTheme(), slice = frame && run.slices[frame.task];
  if (!slice) {
    const words = run?.ended || run?.refused ? "this problem has no risk of one score per point" : "drawn when the run has ended";
    return frameChart([drawText(SIZE.width / 2, SIZE.height / 2, words, theme, { "text-anchor": "middle" })], words);
  }
  const { t, risk } = slice, cuts = slice.steps.slice(0, frame.place + 1), here = cuts.at(-1);
  const finite = risk.filter((each) => each !== null), low = Math.min(...finite), high = Math.max(...finite), room = 0.12 * (high - low || 1);
  const x = scaleX(t[0], t.at(-1)), y = scaleY(low - 2 * room, high + room);
  const trace = (values, attributes) => makeElement("path", { d: makePath(t.map((each, k) => [x(each), y(values[k])])), fill: "none", ...attributes });
  const model = t.map((each) => Math.max(...cuts.map((cut) => cut.height + cut.slope * each)));
  const parts = [drawTicks(listEven(t[0], t.at(-1), 5), x, true, theme), drawTicks(listEven(low - room, high, 4), y, false, theme)];
  for (const cut of cuts.slice(-25)) parts.push(trace(t.map((each) => cut.height + cut.slope * each), { stroke: theme.quiet, "stroke-width": 0.8, "stroke-opacity": 0.6 }));
  parts.push(trace(risk, { stroke: theme.ink, "stroke-width": 2.4 }), trace(model, { stroke: theme.classes[1], "stroke-width": 2.2, "stroke-dasharray": "7 4" }));
  const clip = makeElement("clipPath", { id: "slice-box" }, makeElement("rect", { x: SIZE.left, y: SIZE.top, width: SIZE.width - SIZE.left - SIZE.right, height: SIZE.height - SIZE.top - SIZE.bottom }));
  const stand = Math.max(t[0], Math.min(t.at(-1), here.t));
  const mark = makeElement("path", { d: makePath([[x(stand), SIZE.top], [x(stand), SIZE.height - SIZE.bottom]]), stroke: theme.panels[0], "stroke-width": 1.6, fill: "none" });
  const caption = drawText(SIZE.left, SIZE.height - 3, "0 start, 1 end", theme) + drawText(SIZE.width - SIZE.right, SIZE.height - 3, "risk, cuts so far, their maximum dashed", theme, { "text-anchor": "end" });
  return frameChart([clip, parts.slice(0, 2).join(""), makeElement("g", { "clip-path": "url(#slice-box)" }, parts.slice(2).join("") + mark), caption], "The risk from start to end, and the cuts made so far");
}
