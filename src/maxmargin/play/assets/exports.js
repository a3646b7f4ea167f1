// Pictures, data and code as files.

import { HEIGHT, WIDTH } from "./plane.js";
import { makeElement } from "./svg.js";
import { getTheme } from "./theme.js";

const PIXELS = 2; // of a PNG for each unit of the picture
const GAP = 20; // between two panels

export function download(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The panels side by side, each under the name of its solver.
export function joinPictures(pictures, titles) {
  const theme = getTheme(), heading = 40, width = pictures.length * WIDTH + (pictures.length - 1) * GAP;
  const parts = pictures.map((picture, k) => {
    const x = k * (WIDTH + GAP);
    const title = makeElement("text", { x: x + 10, y: 27, fill: theme.ink, "font-size": 20, "font-family": "sans-serif" }, titles[k].replaceAll("&", "&amp;").replaceAll("<", "&lt;"));
    return title + picture.replace("<svg ", `<svg x="${x}" y="${heading}" width="${WIDTH}" height="${HEIGHT}" `);
  });
  const ground = makeElement("rect", { width, height: HEIGHT + heading, fill: theme.paper });
  return makeElement("svg", { xmlns: "http://www.w3.org/2000/svg", width, height: HEIGHT + heading, viewBox: `0 0 ${width} ${HEIGHT + heading}` }, ground + parts.join(""));
}

export async function paintPicture(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = PIXELS * image.width;
  canvas.height = PIXELS * image.height;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

export function writeTable(points, isCurve) {
  const header = isCurve ? "x,y" : "x1,x2,class";
  return [header, ...points.map((point) => point.join(","))].join("\n") + "\n";
}
