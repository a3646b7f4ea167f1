// The form on the left: data, model and solvers. It is made from what the server says that there is to choose.

import { listExamples } from "./examples.js";

const TITLES = {
  C: "C", nu: "nu", gamma: "gamma", degree: "degree", coef0: "coef0", epsilon: "epsilon", quantile: "quantile",
  threshold: "threshold", loss: "Loss", kernel: "Kernel", intercept: "Intercept", multi_class: "Classes", penalty: "Penalty",
};
const WORDS = { losses: "loss", kernels: "kernel", intercepts: "intercept", multi_class: "multi_class", penalties: "penalty" };
const FIRST_WORDS = { loss: "", kernel: "rbf", intercept: "free" };
const TOOLS = { classes: [["0", "● circles"], ["1", "■ squares"], ["2", "▲ triangles"], ["erase", "erase"]], curve: [["0", "● points"], ["erase", "erase"]] };

function addNode(parent, name, attributes = {}, text = "") {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  parent.append(node);
  return node;
}

export class Controls {
  constructor(form, choices, handlers) {
    this.form = form;
    this.choices = choices;
    this.handlers = handlers;
    this.kind = "classes";
    this.values = Object.fromEntries(Object.entries(choices.numbers).map(([name, { value }]) => [name, value]));
    this.words = { ...FIRST_WORDS };
    this.buildData();
    this.model = this.addFieldset("Model");
    this.buildSolvers();
    this.showKind();
    form.addEventListener("submit", (event) => { event.preventDefault(); handlers.fit(); });
  }

  addFieldset(title) {
    const field = addNode(this.form, "fieldset");
    addNode(field, "legend", {}, title);
    return field;
  }

  addRow(parent, title) {
    const row = addNode(parent, "label", { class: "row" });
    addNode(row, "span", {}, title);
    return row;
  }

  addSelect(parent, name, title, options, chosen, change) {
    const select = addNode(this.addRow(parent, title), "select", { name });
    for (const option of options) addNode(select, "option", { value: option }, option === "" ? "none" : option.replaceAll("_", " "));
    select.value = options.includes(chosen) ? chosen : options[0];
    select.addEventListener("change", () => change(select.value));
    return select;
  }

  addRadios(parent, name, options, chosen, change) {
    const group = addNode(parent, "div", { class: "choices", role: "radiogroup" });
    for (const [value, title] of options) {
      const label = addNode(group, "label"), input = addNode(label, "input", { type: "radio", name, value });
      addNode(label, "span", {}, title);
      input.checked = value === chosen;
      input.addEventListener("change", () => change(value));
    }
    return group;
  }

  addButton(parent, title, action, attributes = {}) {
    const button = addNode(parent, "button", { type: "button", ...attributes }, title);
    button.addEventListener("click", action);
    return button;
  }

  buildData() {
    const data = this.addFieldset("Data");
    this.addRadios(data, "kind", [["classes", "classes"], ["curve", "curve"]], this.kind, (kind) => { this.kind = kind; this.showKind(); this.handlers.kind(kind); });
    this.tools = addNode(data, "div");
    this.example = addNode(data, "div");
    const buttons = addNode(data, "div", { class: "choices" });
    this.addButton(buttons, "Undo", this.handlers.undo, { id: "undo" });
    this.addButton(buttons, "Clear", this.handlers.clear, { id: "clear" });
  }

  buildSolvers() {
    const field = this.addFieldset("Solvers");
    const changed = () => this.handlers.change();
    this.first = this.addSelect(field, "solver", "Solver", this.choices.solvers, "smo", changed);
    this.second = this.addSelect(field, "second", "Beside it", ["", ...this.choices.solvers], "", changed);
    this.tol = this.addTyped(field, "tol", "Tolerance", "1e-4");
    this.seconds = this.addTyped(field, "max_seconds", "Seconds", String(this.choices.limits.default_seconds));
    const check = addNode(field, "label", { class: "check" });
    this.automatic = addNode(check, "input", { type: "checkbox", name: "automatic" });
    this.automatic.checked = true;
    addNode(check, "span", {}, "Fit while I draw and choose");
    const buttons = addNode(field, "div", { class: "choices" });
    addNode(buttons, "button", { class: "primary", id: "fit" }, "Fit");
    this.addButton(buttons, "Stop", this.handlers.stop, { id: "stop" });
  }

  addTyped(parent, name, title, value) {
    const input = addNode(this.addRow(parent, title), "input", { type: "number", name, step: "any", value });
    input.addEventListener("change", () => this.handlers.change());
    return input;
  }

  showKind() {
    this.tools.replaceChildren();
    this.tool = "0";
    this.addRadios(this.tools, "tool", TOOLS[this.kind], "0", (tool) => { this.tool = tool; });
    this.example.replaceChildren();
    const names = listExamples(this.kind);
    const ask = () => this.handlers.example(this.chosenExample.value, Number(this.amount.value));
    this.chosenExample = this.addSelect(this.example, "example", "Example", names, names[0], ask);
    this.amount = this.addSelect(this.example, "amount", "Points", ["40", "120", "500", "2000"], "120", ask);
    const tasks = this.kind === "curve" ? ["regression"] : ["classification", "novelty"];
    this.models = Object.keys(this.choices.models).filter((name) => tasks.includes(this.choices.models[name].task));
    this.showModel(this.models[0]);
  }

  chooseTool(tool) {
    const input = this.form.querySelector(`input[name="tool"][value="${tool}"]`);
    if (input) { input.checked = true; this.tool = tool; }
  }

  showModel(name) {
    this.chosenModel = name;
    const described = this.choices.models[name];
    this.model.replaceChildren(this.model.firstElementChild);
    this.addSelect(this.model, "model", "Model", this.models, name, (value) => { this.showModel(value); this.model.querySelector("select").focus(); this.handlers.change(); });
    for (const [list, word] of Object.entries(WORDS)) {
      if (!described[list].length) { delete this.words[word]; continue; }
      const select = this.addSelect(this.model, word, TITLES[word], described[list], this.words[word] ?? FIRST_WORDS[word], (value) => {
        this.words[word] = value;
        this.showNumbers(described);
        this.handlers.change();
      });
      this.words[word] = select.value;
    }
    this.numbers = addNode(this.model, "div");
    this.showNumbers(described);
  }

  listNumbers(described) {
    const { kernel_numbers: ofKernels, loss_numbers: ofLosses } = this.choices;
    return described.numbers.filter((name) => {
      if (Object.values(ofKernels).flat().includes(name)) return ofKernels[this.words.kernel]?.includes(name);
      return !(name in ofLosses) || ofLosses[name].includes(this.words.loss);
    });
  }

  showNumbers(described) {
    this.numbers.replaceChildren();
    for (const name of this.listNumbers(described)) this.addNumber(name, this.choices.numbers[name]);
  }

  addNumber(name, { min, max }) {
    const row = addNode(this.numbers, "label", { class: "row" });
    addNode(row, "span", {}, TITLES[name]);
    const both = addNode(row, "div", { class: "number" });
    const slider = addNode(both, "input", { type: "range", min: Math.log10(min), max: Math.log10(max), step: "any", "aria-label": `${TITLES[name]}, slider` });
    const typed = addNode(both, "input", { type: "number", name, step: "any", "aria-label": TITLES[name] });
    const show = () => { typed.value = this.values[name]; slider.value = Math.log10(Math.max(this.values[name], min)); };
    slider.step = (Math.log10(max) - Math.log10(min)) / 100;
    slider.addEventListener("input", () => {
      const value = Number((10 ** Number(slider.value)).toPrecision(3));
      this.values[name] = name === "degree" ? Math.round(value) : value;
      typed.value = this.values[name];
      this.handlers.change();
    });
    typed.addEventListener("change", () => { this.values[name] = typed.value === "" ? null : Number(typed.value); slider.value = Math.log10(Math.max(this.values[name], min)); this.handlers.change(); });
    show();
  }

  read() {
    const described = this.choices.models[this.chosenModel];
    const numbers = Object.fromEntries(this.listNumbers(described).map((name) => [name, this.values[name]]));
    const words = Object.fromEntries(Object.values(WORDS).filter((word) => word in this.words).map((word) => [word, this.words[word]]));
    const number = (input) => (input.value === "" ? null : Number(input.value));
    return {
      model: this.chosenModel, parameters: { ...words, ...numbers, tol: number(this.tol) }, max_seconds: number(this.seconds),
      solvers: [this.first.value, this.second.value].filter(Boolean),
    };
  }
}
