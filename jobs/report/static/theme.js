// Light or dark colors: the system's setting, until the button is used.

const darkSystem = matchMedia("(prefers-color-scheme: dark)");
const themeListeners = [];
let colors = null;

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : darkSystem.matches;
}

/** A color of the style sheet by its name, for canvas and charts. */
function color(name) {
  if (!colors) colors = {};
  if (!(name in colors)) {
    const style = getComputedStyle(document.documentElement);
    colors[name] = style.getPropertyValue(`--${name}`).trim();
  }
  return colors[name];
}

function themeChanged() {
  colors = null;
  byId("theme").textContent = isDark() ? "Light colors" : "Dark colors";
  for (const listener of themeListeners) listener();
}

function startTheme() {
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    themeChanged();
  });
  darkSystem.addEventListener("change", themeChanged);
  themeChanged();
}
