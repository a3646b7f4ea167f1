// The picture of a panel: regions, boundary, margin, points, support vectors; or a curve with its tube.

import { makeElement, makePath, trim } from "./svg.js";
import { findContours } from "./contours.js";
import { getTheme } from "./theme.js";
import { classify, listValues, readSupport } from "./runs.js";

export const WIDTH = 800;
export const HEIGHT = 600;
export const USUAL_WINDOW = { left: -4, right: 4, bottom: -3, top: 3 };

export function toScreen(view, x, y) {
  return [(x - view.left) / (view.right - view.left) * WIDTH, (view.top - y) / (view.top - view.bottom) * HEIGHT];
}

export function fromScreen(view, x, y) {
  return [view.left + x / WIDTH * (view.right - view.left), view.top - y / HEIGHT * (view.top - view.bottom)];
}

export function drawPlane(run, frame, points, cursor) {
  const theme = getTheme(), view = run?.screen ?? USUAL_WINDOW;
  const parts = [makeElement("rect", { width: WIDTH, height: HEIGHT, fill: theme.paper }), drawAxes(view, theme)];
  if (frame) parts.push(run.screen.curve ? drawCurve(run, frame, theme) : drawRegions(run, frame, theme));
  const support = frame && run.size === points.length ? readSupport(run, frame, points.length) : new Uint8Array(points.length);
  parts.push(...points.map((point, k) => drawPoint(view, point, support[k], theme)));
  if (cursor) parts.push(drawCursor(view, cursor, theme));
  return makeElement("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, parts.join(""));
}

function drawAxes(view, theme) {
  const [x, y] = toScreen(view, 0, 0);
  const line = (points) => makeElement("path", { d: makePath(points), stroke: theme.line, fill: "none" });
  return line([[0, y], [WIDTH, y]]) + line([[x, 0], [x, HEIGHT]]);
}

function drawRegions(run, frame, theme) {
  const { columns, rows } = run.screen, values = listValues(frame);
  const parts = [drawTint(run, frame, theme)];
  const toPixels = ([x, y]) => [x / (columns - 1) * WIDTH, HEIGHT - y / (rows - 1) * HEIGHT];
  const draw = (grid, level, attributes) => {
    for (const { points, closed } of findContours(grid, columns, rows, level)) {
      parts.push(makeElement("path", { d: makePath(points.map(toPixels), closed), fill: "none", "stroke-linejoin": "round", ...attributes }));
    }
  };
  if (run.combine === "largest") {
    const order = run.tasks.length === 1 ? run.labels : run.tasks.map((task) => task.positive[0]);
    values.forEach((grid, k) => {
      const rest = values.filter((other, j) => j !== k && other);
      if (!grid || !rest.length) return;
      const lead = grid.map((value, place) => value - Math.max(...rest.map((other) => other[place])));
      draw(lead, 0, { stroke: theme.classes[order[k]] ?? theme.ink, "stroke-width": 3 });
    });
    return parts.join("");
  }
  const single = values.length === 1;
  values.forEach((grid, task) => {
    if (!grid) return;
    const stroke = single ? theme.ink : theme.quiet;
    draw(grid, 0, { stroke, "stroke-width": single ? 3.5 : 2.5, class: "boundary" });
    if (!single && frame.task !== task) return;
    const margins = run.model === "OneClassSVM" ? [] : [[1, 0], [-1, 1]];
    for (const [level, side] of margins) {
      const label = run.tasks[task][side ? "negative" : "positive"][0];
      draw(grid, level, { stroke: theme.classes[label] ?? theme.ink, "stroke-width": 2, "stroke-dasharray": "9 6", class: "margin" });
    }
  });
  return parts.join("");
}

function drawTint(run, frame, theme) {
  const found = classify(run, frame);
  if (!found) return "";
  const { columns, rows } = run.screen;
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d"), pixels = context.createImageData(columns, rows);
  found.classes.forEach((label, k) => {
    const place = 4 * ((rows - 1 - Math.floor(k / columns)) * columns + k % columns);
    pixels.data.set([...theme.tints[label], 255 * theme.strength * found.sure[k]], place);
  });
  context.putImageData(pixels, 0, 0);
  const half = [WIDTH / (columns - 1) / 2, HEIGHT / (rows - 1) / 2];
  return makeElement("image", { href: canvas.toDataURL(), x: trim(-half[0]), y: trim(-half[1]), width: trim(WIDTH + 2 * half[0]),
    height: trim(HEIGHT + 2 * half[1]), preserveAspectRatio: "none" });
}

function drawCurve(run, frame, theme) {
  const view = run.screen, values = listValues(frame)[0];
  const at = (k, shift) => toScreen(view, view.left + k / (values.length - 1) * (view.right - view.left), values[k] + shift);
  const line = (shift) => values.map((_, k) => at(k, shift));
  const parts = [];
  if (run.tube) {
    const band = [...line(run.tube), ...line(-run.tube).reverse()];
    parts.push(makeElement("path", { d: makePath(band, true), fill: theme.classes[0], "fill-opacity": 0.13 }));
    for (const shift of [run.tube, -run.tube]) {
      parts.push(makeElement("path", { d: makePath(line(shift)), fill: "none", stroke: theme.classes[0], "stroke-width": 1.8, "stroke-dasharray": "9 6", class: "margin" }));
    }
  }
  parts.push(makeElement("path", { d: makePath(line(0)), fill: "none", stroke: theme.ink, "stroke-width": 3.5, class: "boundary" }));
  return parts.join("");
}

export function drawShape(x, y, label, size, attributes) {
  if (label === 1) return makeElement("rect", { x: trim(x - size * 0.9), y: trim(y - size * 0.9), width: trim(1.8 * size), height: trim(1.8 * size), ...attributes });
  if (label === 2) {
    const corners = [[x, y - 1.2 * size], [x + 1.1 * size, y + 0.8 * size], [x - 1.1 * size, y + 0.8 * size]];
    return makeElement("path", { d: makePath(corners, true), ...attributes });
  }
  return makeElement("circle", { cx: trim(x), cy: trim(y), r: size, ...attributes });
}

function drawPoint(view, point, support, theme) {
  const [x, y] = toScreen(view, point[0], point[1]), label = point[2] ?? 0;
  const colour = theme.classes[label];
  const ring = { 0: { stroke: theme.paper, "stroke-width": 1 }, 1: { stroke: theme.free, "stroke-width": 2.6 }, 2: { stroke: theme.bounded, "stroke-width": 3 } }[support];
  return drawShape(x, y, label, support ? 6.5 : 5, { fill: colour, "fill-opacity": support ? 1 : 0.75, ...ring, "data-support": support });
}

function drawCursor(view, cursor, theme) {
  const [x, y] = toScreen(view, ...cursor);
  const arms = [[[x - 16, y], [x + 16, y]], [[x, y - 16], [x, y + 16]]];
  return arms.map((arm) => makeElement("path", { d: makePath(arm), stroke: theme.ink, "stroke-width": 2, fill: "none" })).join("")
    + makeElement("circle", { cx: trim(x), cy: trim(y), r: 11, fill: "none", stroke: theme.ink, "stroke-width": 1.5 });
}
