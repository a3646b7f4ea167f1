// Points drawn with pointer or keyboard on the plane of a panel.

import { fromScreen, HEIGHT, toScreen, USUAL_WINDOW, WIDTH } from "./plane.js";

const SPACING = 14; // pixels of the picture between two points of a stroke
const REACH = 22; // pixels within which a point is erased
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const STEP = 0.1;

export class Drawing {
  constructor(element, state, handlers) {
    this.element = element;
    this.state = state; // view(), points(), tool()
    this.handlers = handlers; // change(points), cursor(), tool(name)
    this.cursor = null;
    this.last = null;
    element.addEventListener("pointerdown", (event) => this.begin(event));
    element.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) element.addEventListener(end, () => { this.last = null; });
    element.addEventListener("keydown", (event) => this.press(event));
    element.addEventListener("blur", () => { this.cursor = null; this.handlers.cursor(); });
  }

  locate(event) {
    const box = this.element.querySelector("svg").getBoundingClientRect();
    const scale = Math.max(WIDTH / box.width, HEIGHT / box.height); // the picture is centred in its box
    return [(event.clientX - box.left - box.width / 2) * scale + WIDTH / 2, (event.clientY - box.top - box.height / 2) * scale + HEIGHT / 2];
  }

  begin(event) {
    if (event.button !== 0) return;
    this.element.setPointerCapture(event.pointerId);
    this.cursor = null;
    this.last = this.locate(event);
    this.apply(fromScreen(this.view(), ...this.last));
  }

  move(event) {
    if (!this.last) return;
    const here = this.locate(event);
    if (Math.hypot(here[0] - this.last[0], here[1] - this.last[1]) < SPACING) return;
    this.last = here;
    this.apply(fromScreen(this.view(), ...here));
  }

  view() {
    return this.state.view() ?? USUAL_WINDOW;
  }

  press(event) {
    if (event.key in ARROWS) {
      const [x, y] = ARROWS[event.key], size = event.shiftKey ? 5 * STEP : STEP, view = this.view();
      const [a, b] = this.cursor ?? [(view.left + view.right) / 2, (view.bottom + view.top) / 2];
      this.cursor = [Math.min(view.right, Math.max(view.left, a + size * x)), Math.min(view.top, Math.max(view.bottom, b + size * y))];
      this.handlers.cursor();
    } else if (event.key === "Enter" || event.key === " ") {
      this.cursor ??= [0, 0];
      this.apply(this.cursor);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      this.erase(this.cursor ?? [0, 0], Infinity);
    } else if (["1", "2", "3"].includes(event.key)) {
      this.handlers.tool(String(Number(event.key) - 1));
    } else {
      return;
    }
    event.preventDefault();
  }

  apply(place) {
    const tool = this.state.tool();
    if (tool === "erase") this.erase(place, REACH);
    else this.handlers.change([...this.state.points(), this.makePoint(place, Number(tool))]);
  }

  makePoint(place, label) {
    const [x, y] = place.map((each) => Math.round(each * 1000) / 1000);
    return this.state.isCurve() ? [x, y] : [x, y, label];
  }

  erase(place, reach) {
    const view = this.view(), [x, y] = toScreen(view, ...place), points = this.state.points();
    const distances = points.map((point) => { const [a, b] = toScreen(view, point[0], point[1]); return Math.hypot(a - x, b - y); });
    const nearest = distances.indexOf(Math.min(...distances));
    if (nearest >= 0 && distances[nearest] <= reach) this.handlers.change(points.filter((_, k) => k !== nearest));
  }
}
