// Start of the page: controls, legends, first drawing.

const ACTIONS = {
  in: () => zoom(0.6), out: () => zoom(1 / 0.6), all: seeAll, earlier: () => move(-0.4),
  later: () => move(0.4), previous: () => step(-1), next: () => step(1),
};

function startControls() {
  for (const button of document.querySelectorAll("[data-do]")) {
    button.addEventListener("click", () => ACTIONS[button.dataset.do]());
  }
  const ids = groups.map((row) => row.group_id).filter(hasTimeline);
  byId("group").append(...ids.map((group) => element("option", { value: group }, group)));
  byId("group").addEventListener("change", (event) => {
    openThen(event.target.value, () => writeAddress(address(), true));
  });
  byId("filter").addEventListener("input", (event) => {
    state.words = event.target.value.trim().toLowerCase();
    findLanes();
    changed();
  });
  byId("marked").addEventListener("change", (event) => {
    state.onlyMarked = event.target.checked;
    findLanes();
    changed();
  });
  byId("more-storms").addEventListener("click", () => {
    stormsShown = storms.length;
    drawStorms();
  });
  byId("more").addEventListener("click", () => {
    rowsShown += 500;
    drawRebalances();
  });
  byId("to-timeline").addEventListener("click", () => {
    byId("timeline-part").scrollIntoView();
    byId("timeline-title").focus({ preventScroll: true });
  });
  byId("families").append(...FAMILIES.map(familyBox));
}

function familyBox(family) {
  const box = element("input", { type: "checkbox", checked: "" });
  box.addEventListener("change", () => {
    if (box.checked) state.families.add(family);
    else state.families.delete(family);
    changed();
  });
  return element("label", {}, box, picture(family), FAMILY_WORDS[family]);
}

/** The mark of a family, as on the timeline. */
function picture(family) {
  const canvas = element("canvas", { class: "glyph", width: 14, height: 14, "aria-hidden": "true" });
  const draw = () => {
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, 14, 14);
    glyph(pen, family, 7, 7, true);
  };
  themeListeners.push(draw);
  draw();
  return canvas;
}

const LEGEND = {
  join: "waiting for members", sync: "waiting for the assignment", stable: "Stable", empty: "Empty",
  unavailable: "unowned partitions",
};

function drawLegend() {
  const items = Object.entries(LEGEND).map(([name, words]) => {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = `var(--${name})`;
    return element("li", {}, swatch, words);
  });
  items.push(element("li", {}, "full mark: trigger; outline: contributing cause"));
  byId("legend").replaceChildren(...items);
  byId("family-legend").replaceChildren(...FAMILIES.map((family) => {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = `var(--${family})`;
    return element("li", {}, swatch, picture(family), FAMILY_WORDS[family]);
  }));
}

/** Show all times in the reader's zone, or in UTC. */
function zoneChanged() {
  isLocal = byId("local").checked;
  drawSpan();
  drawHeadline();
  drawStorms();
  drawCharts();
  if (!state.timeline) return;
  drawGroupEpisodes();
  drawDetails();
  changed();
}

function start() {
  startTheme();
  byId("local").addEventListener("change", zoneChanged);
  drawOverview();
  drawLegend();
  startControls();
  startGestures();
  followAddress();
  window.addEventListener("hashchange", followAddress);
  themeListeners.push(() => { drawCharts(); changed(); });
  drawCharts();
}

start();
