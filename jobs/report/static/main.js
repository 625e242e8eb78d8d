// Start of the page: controls, legends, first drawing.

const ACTIONS = {
  in: () => zoom(0.6), out: () => zoom(1 / 0.6), all: seeAll, earlier: () => move(-0.4),
  later: () => move(0.4), previous: () => step(-1), next: () => step(1),
};

function startControls() {
  for (const button of document.querySelectorAll("[data-do]")) {
    button.addEventListener("click", () => ACTIONS[button.dataset.do]());
  }
  if (server) startGroupSearch();
  else {
    byId("group").append(...groups.filter((row) => hasTimeline(row.group_id)).map((row) => element("option",
      { value: row.group_id }, hasNewTypes ? `${row.group_id} (${typesText(row.types)})` : row.group_id)));
  }
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
    byId("canvas").focus({ preventScroll: true }); // the timeline has the focus, so that its keys move and zoom
  });
  byId("families").append(...FAMILIES.map(familyBox));
}

const SUGGESTED = 30;

/** A field with suggestions instead of a list: a lake may have any number of groups. */
function startGroupSearch() {
  const suggestions = element("datalist", { id: "suggestions" });
  const field = element("input", { id: "group", type: "search", list: "suggestions", autocomplete: "off" });
  byId("group").replaceWith(field, suggestions);
  field.addEventListener("input", async () => {
    const answer = await ask("groups", { search: field.value, limit: SUGGESTED }).catch(() => null);
    if (!answer) return;
    suggestions.replaceChildren(...objects(answer.listed).map((row) => element("option", { value: row.group_id })));
  });
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
  classic: { join: "waiting for members", sync: "waiting for the assignment" },
  consumer: { join: "Assigning", sync: "Reconciling, or waits for partitions" },
  streams: { join: "Assigning", sync: "Reconciling, or waits for tasks" },
  share: { join: "no target yet", sync: "members take up the target" },
  all: { stable: "Stable", empty: "Empty", unowned: "unowned partitions", unserved: "owned, not served" },
};
const MEMBER_LEGEND = { behind: "behind the target", revoke: "asked to give up" };
const REPLICA_LEGEND = { standby: "standby tasks", warmup: "warm-up tasks" };

/** The legend of the shown group: colors of the phases of its types, and of the actions of its members. */
function drawTimelineLegend() {
  const types = [...new Set(typesShown())];
  const names = {};
  for (const type of types) {
    for (const [name, words] of Object.entries(LEGEND[type])) {
      const more = types.length > 1 ? `${words} (${type})` : words;
      names[name] = names[name] ? `${names[name]}; ${more}` : more;
    }
  }
  Object.assign(names, LEGEND.all);
  if (types.some((type) => type !== "classic")) names.behind = MEMBER_LEGEND.behind;
  if (types.some((type) => type === "consumer" || type === "streams")) names.revoke = MEMBER_LEGEND.revoke;
  if (state.timeline.assigned.some((each) => each.length > 2)) Object.assign(names, REPLICA_LEGEND);
  const items = Object.entries(names).map(([name, words]) => {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = `var(--${name})`;
    return element("li", {}, swatch, words);
  });
  items.push(element("li", {}, "full mark: trigger; outline: contributing cause"));
  byId("legend").replaceChildren(...items);
  byId("new-keys").hidden = types.every((type) => type === "classic");
}

function drawLegend() {
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
  drawFindings();
  drawHeadline();
  drawStorms();
  drawCharts();
  if (!state.timeline) return;
  drawGroupEpisodes();
  drawPeriods();
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
  startViews();
  startLive();
  startPaper();
  followAddress();
  window.addEventListener("hashchange", followAddress);
  themeListeners.push(() => { drawCharts(); changed(); });
  drawCharts();
}

start();
