// Light or dark: as the system has it, until the reader chooses.

const darkSystem = matchMedia("(prefers-color-scheme: dark)");
const themeListeners = [];
let colours = null;

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : darkSystem.matches;
}

/** A colour of the style sheet by its name, for canvas and charts. */
function colour(name) {
  if (!colours) colours = {};
  if (!(name in colours)) {
    const style = getComputedStyle(document.documentElement);
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  }
  return colours[name];
}

function themeChanged() {
  colours = null;
  byId("theme").textContent = isDark() ? "Light colours" : "Dark colours";
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
