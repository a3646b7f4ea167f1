// SVG as text: one element, and numbers as short as a picture needs them.

export function makeElement(name, attributes, inner = "") {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeText(value)}"`).join("");
  return `<${name}${written}>${inner}</${name}>`;
}

export function escapeText(value) {
  return String(value).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

export function trim(number) {
  return String(Math.round(number * 100) / 100);
}

export function makePath(points, closed = false) {
  return points.map(([x, y], k) => `${k ? "L" : "M"}${trim(x)} ${trim(y)}`).join("") + (closed ? "Z" : "");
}

export function writeNumber(number, digits = 4) {
  if (number === null || number === undefined) return "not known";
  if (number !== 0 && (Math.abs(number) < 1e-3 || Math.abs(number) >= 1e6)) return number.toExponential(digits - 2);
  return String(Number(number.toPrecision(digits)));
}
