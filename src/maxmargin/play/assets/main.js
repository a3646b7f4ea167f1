// The page: controls and drawing on one side, runs and their pictures on the other.

import { Connection } from "./connection.js";
import { Controls } from "./controls.js";
import { Drawing } from "./drawing.js";
import { drawDuals, drawGap, drawSlice } from "./charts.js";
import { drawPlane, drawShape } from "./plane.js";
import { download, joinPictures, paintPicture, writeTable } from "./exports.js";
import { makeExample } from "./examples.js";
import { addFrame, countSteps, findFrame, makeRefusedRun, makeRun } from "./runs.js";
import { escapeText, makeElement, makePath, writeNumber } from "./svg.js";
import { getTheme, startTheme } from "./theme.js";
import { Transport } from "./transport.js";

const PAUSE_MILLISECONDS = 200; // between a change and its fit
const HINT = "Draw with the pointer; or use the arrow keys, Enter for a point, Delete to erase, 1 to 3 for the class.";
const find = (id) => document.getElementById(id);
const content = JSON.parse(find("content").textContent);
const state = { kind: "classes", points: { classes: [], curve: [] }, past: [], runs: [], asked: 0, firstPicture: null, waiting: null, drawn: false };
const planes = [];
let controls = null, connection = null;

const transport = new Transport(find("transport"), () => redraw());
const currentPoints = () => state.points[state.kind];

// ---- pictures ---------------------------------------------------------------------------------------------

function makePanel(number) {
  const panel = document.createElement("section");
  panel.className = "panel";
  panel.innerHTML = `<h2><b></b><span></span></h2><p class="refused" hidden></p><div class="plane" data-panel="${number}"></div>`;
  find("panels").append(panel);
  const plane = panel.querySelector(".plane"), made = { panel, plane, drawing: null };
  if (content.live) {
    plane.tabIndex = 0;
    plane.setAttribute("role", "application");
    plane.setAttribute("aria-label", `Plane of points. ${HINT}`);
    made.drawing = new Drawing(plane, {
      view: () => state.runs[number]?.screen, points: currentPoints, tool: () => controls.tool, isCurve: () => state.kind === "curve",
    }, { change: (points) => changePoints(points), cursor: () => redrawPanel(number), tool: (name) => controls.chooseTool(name) });
  }
  return made;
}

function setPanels(count) {
  while (planes.length < count) planes.push(makePanel(planes.length));
  while (planes.length > count) planes.pop().panel.remove();
  find("panels").classList.toggle("two", count === 2);
}

function redrawPanel(number) {
  const run = state.runs[number], { panel, plane, drawing } = planes[number], frame = run && findFrame(run, transport.step);
  plane.innerHTML = drawPlane(run, frame, currentPoints(), drawing?.cursor);
  const method = run?.method && run.method !== run.solver.split(",")[0] ? `${run.solver}: ${run.method}` : run?.solver ?? "";
  panel.querySelector("b").textContent = method.replaceAll("_", " ");
  const task = frame && run.tasks.length > 1 ? `${run.tasks[frame.task].title}, ` : "";
  panel.querySelector("h2 span").textContent = frame ? `${task}iteration ${frame.iteration}, gap ${writeNumber(frame.gap, 3)}` : "";
  const refused = panel.querySelector(".refused");
  refused.hidden = !run?.refused;
  refused.textContent = run?.refused ?? "";
}

function redraw() {
  state.drawn = true;
  planes.forEach((_, number) => redrawPanel(number));
  const shown = state.runs.findIndex((run) => run.frames.length), run = state.runs[Math.max(shown, 0)];
  const frame = run && findFrame(run, transport.step);
  find("gap").innerHTML = drawGap(state.runs, transport.step, find("against").value);
  find("duals").innerHTML = drawDuals(run, frame);
  find("slice").innerHTML = drawSlice(run, frame);
  find("duals-of").textContent = state.runs.length > 1 && frame ? `of ${run.solver}` : "";
  find("numbers").innerHTML = writeNumbers();
  find("code").querySelector("pre").textContent = state.runs.map((each) => each.code ?? "").filter(Boolean).join("\n");
  find("legend").innerHTML = writeLegend(run);
}

function scheduleRedraw() {
  if (!state.drawn) return;
  state.drawn = false;
  requestAnimationFrame(redraw);
}

function writeNumbers() {
  const rows = [["solver", (run) => run.solver], ["iteration", (_, frame) => frame.iteration], ["primal P", (_, frame) => writeNumber(frame.primal, 8)],
    ["dual D", (_, frame) => writeNumber(frame.dual, 8)], ["relative gap", (_, frame) => writeNumber(frame.gap, 4)], ["seconds of the solver", (_, frame) => writeNumber(frame.elapsed, 3)],
    ["free support vectors", (_, frame) => frame.support.split("1").length - 1], ["at their bound", (_, frame) => frame.support.split("2").length - 1]];
  const shown = state.runs.map((run) => [run, findFrame(run, transport.step)]).filter(([, frame]) => frame);
  for (const name of new Set(shown.flatMap(([, frame]) => Object.keys(frame.record ?? {})))) rows.push([name, (_, frame) => writeValue(frame.record?.[name])]);
  const write = ([title, read]) => `<div><dt>${escapeText(title)}</dt>${shown.map(([run, frame]) => `<dd>${escapeText(read(run, frame))}</dd>`).join("")}</div>`;
  return shown.length ? `<dl class="of-${shown.length}">${rows.map(write).join("")}</dl>` : "<p>None yet.</p>";
}

function writeValue(value) {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.slice(0, 6).map(writeValue).join(", ") + (value.length > 6 ? ", ..." : "");
  return typeof value === "number" ? writeNumber(value, 6) : String(value);
}

function writeLegend(run) {
  const theme = getTheme(), curve = run?.screen?.curve ?? state.kind === "curve";
  const sign = (inner) => makeElement("svg", { viewBox: "0 0 28 20", "aria-hidden": "true" }, inner);
  const point = (attributes) => sign(drawShape(14, 10, 0, 6, { fill: theme.classes[0], ...attributes }));
  const line = (attributes) => sign(makeElement("path", { d: makePath([[1, 10], [27, 10]]), ...attributes }));
  const items = [[line({ stroke: theme.ink, "stroke-width": 3 }), curve ? "f(x)" : "boundary, f = 0"],
    [line({ stroke: theme.classes[0], "stroke-width": 2, "stroke-dasharray": "6 4" }), curve ? "tube, f ± epsilon" : "margin, f = ±1"],
    [point({ stroke: theme.free, "stroke-width": 2.6 }), "free support vector"], [point({ stroke: theme.bounded, "stroke-width": 3 }), "support vector at its bound"],
    [point({ "fill-opacity": 0.75 }), "other points"]];
  return items.map(([picture, words]) => `<span>${picture}${words}</span>`).join("");
}

// ---- fits -------------------------------------------------------------------------------------------------

function takeMessage(message) {
  const { kind, panel } = message;
  if (kind === "begin") state.runs[panel] = makeRun(message);
  if (kind === "refused" && panel === null) return complain(message.sentence);
  if (kind === "refused") state.runs[panel] = makeRefusedRun(message);
  if (kind === "frame") { addFrame(state.runs[panel], message); transport.grow(countSteps(state.runs)); }
  if (kind === "slice") state.runs[panel].slices[message.task] = message;
  if (kind === "end") state.runs[panel].ended = message;
  if (kind === "done") finish();
  if (kind === "frame" && state.firstPicture === null) {
    redraw();
    state.firstPicture = performance.now() - state.asked;
  } else {
    scheduleRedraw();
  }
}

function finish() {
  const ended = state.runs.filter((run) => run.ended);
  const words = ended.map((run) => `${run.solver}: ${run.ended.status.replaceAll("_", " ")}`);
  const first = state.firstPicture === null || !content.live ? "" : `; first picture after ${(state.firstPicture / 1000).toFixed(2)} s`;
  say("done", words.length ? `${words.join("; ")}${first}.` : "");
}

function say(status, words) {
  document.documentElement.dataset.status = status;
  find("status").textContent = words;
}

function complain(sentence) {
  find("alert").textContent = sentence;
  find("alert").hidden = !sentence;
  if (sentence) say("refused", "");
}

function fit() {
  clearTimeout(state.waiting);
  state.waiting = null;
  complain("");
  const asked = controls.read();
  state.runs = [];
  Object.assign(state, { asked: performance.now(), firstPicture: null });
  setPanels(asked.solvers.length);
  transport.restart();
  state.runs = asked.solvers.map((solver) => ({ solver, frames: [], slices: {}, tasks: [], ended: null }));
  say("running", `Fitting ${currentPoints().length} points ...`);
  connection.ask({ ...asked, points: currentPoints() });
  scheduleRedraw();
}

function stop() {
  clearTimeout(state.waiting); // a fit that was about to begin
  state.waiting = null;
  connection.cancel();
  say("done", "Stopped.");
}

function fitSoon() {
  if (!controls.automatic.checked) return scheduleRedraw();
  clearTimeout(state.waiting);
  state.waiting = setTimeout(fit, PAUSE_MILLISECONDS);
  document.documentElement.dataset.status = "waiting";
  return undefined;
}

function changePoints(points) {
  if (points.length > content.live.limits.points) return complain(`At most ${content.live.limits.points} points can be fitted here.`);
  state.past.push([state.kind, currentPoints()]);
  state.points[state.kind] = points;
  scheduleRedraw();
  return fitSoon();
}

function undo() {
  const last = state.past.findLastIndex(([kind]) => kind === state.kind);
  if (last < 0) return;
  state.points[state.kind] = state.past.splice(last, 1)[0][1];
  scheduleRedraw();
  fitSoon();
}

function changeKind(kind) {
  state.kind = kind;
  if (!currentPoints().length) state.points[kind] = makeExample(kind, controls.chosenExample.value, 120);
  fit();
}

// ---- start ------------------------------------------------------------------------------------------------

function addExports() {
  const pictures = () => joinPictures(planes.map(({ plane }) => plane.innerHTML), planes.map(({ panel }) => panel.querySelector("h2").innerText.replaceAll("\n", "  ")));
  const items = [["Picture, SVG", () => download("maxmargin.svg", pictures(), "image/svg+xml")],
    ["Picture, PNG", async () => download("maxmargin.png", await paintPicture(pictures()), "image/png")],
    ["Data, CSV", () => download("points.csv", writeTable(currentPoints(), state.kind === "curve"), "text/csv")],
    ["Python code", () => download("fit.py", state.runs.find((run) => run.code)?.code ?? "", "text/x-python")]];
  const words = document.createElement("b");
  words.textContent = "Export";
  find("exports").append(words);
  for (const [title, action] of items) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: title });
    button.addEventListener("click", action);
    find("exports").append(button);
  }
}

function startLive() {
  controls = new Controls(find("controls"), content.live, {
    fit, stop, change: fitSoon, undo, kind: changeKind,
    clear: () => changePoints([]), example: (name, n) => changePoints(makeExample(state.kind, name, n)),
  });
  connection = new Connection(takeMessage, (sentence) => complain(sentence));
  state.points.classes = makeExample("classes", "two moons", 120);
  fit();
}

function startRecorded({ points, task, messages }) {
  document.querySelector("main").classList.add("recorded");
  state.kind = task === "regression" ? "curve" : "classes";
  state.points[state.kind] = points;
  setPanels(new Set(messages.filter((message) => message.kind === "begin").map((message) => message.panel)).size);
  messages.forEach(takeMessage);
  transport.go(0);
}

state.drawn = true;
startTheme(find("theme"), scheduleRedraw);
find("against").addEventListener("change", scheduleRedraw);
addExports();
if (content.live) startLive();
else startRecorded(content.recording);
