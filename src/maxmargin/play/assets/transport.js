// Steps forwards and backwards: buttons, a slider, and a clock that plays them.

const STEPS_PER_SECOND = 12;
const BUTTONS = [["first", "|◀", "First step"], ["back", "◂", "One step back"], ["play", "▶ play", "Play"], ["forward", "▸", "One step forward"], ["last", "▶|", "Last step"]];

export class Transport {
  constructor(element, show) {
    this.show = show;
    this.count = 0;
    this.step = 0;
    this.following = true; // whether the newest step is shown as it comes
    this.timer = null;
    this.buttons = Object.fromEntries(BUTTONS.map(([name, text, title]) => [name, this.addButton(element, name, text, title)]));
    this.slider = document.createElement("input");
    Object.assign(this.slider, { type: "range", min: 0, max: 0, step: 1, value: 0 });
    this.slider.setAttribute("aria-label", "Step");
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.output = document.createElement("output");
    element.append(this.slider, this.output);
    this.refresh();
  }

  addButton(element, name, text, title) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", id: `step-${name}`, textContent: text, title });
    button.setAttribute("aria-label", title);
    button.addEventListener("click", () => this[name]());
    element.append(button);
    return button;
  }

  first() { this.go(0); }
  back() { this.go(this.step - 1); }
  forward() { this.go(this.step + 1); }
  last() { this.go(this.count - 1); }

  play() {
    if (this.timer) return this.pause();
    if (this.step >= this.count - 1) this.go(0);
    this.timer = setInterval(() => {
      if (this.step >= this.count - 1) this.pause();
      else this.move(this.step + 1);
    }, 1000 / STEPS_PER_SECOND);
    this.refresh();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.refresh();
  }

  go(step) {
    if (this.timer) this.pause();
    this.move(step);
  }

  move(step) {
    this.step = Math.max(0, Math.min(step, this.count - 1));
    this.following = this.step >= this.count - 1;
    this.refresh();
    this.show(this.step);
  }

  restart() {
    if (this.timer) this.pause();
    this.count = this.step = 0;
    this.following = true;
    this.refresh();
  }

  grow(count) {
    this.count = count;
    if (this.following && !this.timer) this.step = Math.max(0, count - 1);
    this.refresh();
  }

  refresh() {
    this.slider.max = Math.max(0, this.count - 1);
    this.slider.value = this.step;
    this.output.textContent = this.count ? `step ${this.step + 1} of ${this.count} shown` : "no steps yet";
    this.buttons.first.disabled = this.buttons.back.disabled = this.step <= 0;
    this.buttons.forward.disabled = this.buttons.last.disabled = this.step >= this.count - 1;
    this.buttons.play.disabled = this.count < 2;
    this.buttons.play.textContent = this.timer ? "❚❚ pause" : "▶ play";
  }
}
