// Colours of the pictures. They are written into the SVG, so that an exported picture looks as it does on the page.

const THEMES = {
  light: {
    paper: "#ffffff", ink: "#16202c", quiet: "#5b6675", line: "#d5dae1",
    classes: ["#1d4ed8", "#d9480f", "#0f766e"], tints: [[37, 99, 235], [234, 88, 12], [13, 148, 136]], strength: 0.24,
    panels: ["#1d4ed8", "#b4236a"], free: "#16202c", bounded: "#8b5cf6",
  },
  dark: {
    paper: "#161b22", ink: "#e6edf3", quiet: "#9aa7b4", line: "#2f3843",
    classes: ["#7aa7ff", "#ff9a5c", "#3ed6c0"], tints: [[64, 120, 255], [240, 110, 40], [20, 184, 166]], strength: 0.3,
    panels: ["#7aa7ff", "#ff7ab8"], free: "#ffffff", bounded: "#c4a7ff",
  },
};
const ORDER = ["system", "light", "dark"];
let chosen = "system";

export function isDark() {
  return chosen === "dark" || (chosen === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
}

export function getTheme() {
  return THEMES[isDark() ? "dark" : "light"];
}

export function startTheme(button, redraw) {
  const apply = () => {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    button.textContent = `Theme: ${chosen}`;
    redraw();
  };
  button.addEventListener("click", () => { chosen = ORDER[(ORDER.indexOf(chosen) + 1) % ORDER.length]; apply(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  apply();
}
