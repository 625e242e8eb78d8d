// Paper: light colors, open lists, and one page per group of a file.

const MOST_PRINTED = 50; // groups
const MOST_LINES = 12; // maximum episodes of a group
const PAPER_HEIGHT = 900; // maximum height of a timeline, in pixels
let isOnPaper = false; // true while the browser prints

function startPaper() {
  let restore = null;
  addEventListener("beforeprint", () => { restore ??= toPaper(); });
  addEventListener("afterprint", () => {
    if (restore) restore();
    restore = null;
  });
}

/** Change the page for print; returns a function that undoes the change. */
function toPaper() {
  const { theme } = document.documentElement.dataset;
  const { open } = byId("group-episodes");
  isOnPaper = true;
  byId("group-episodes").open = true;
  useColors("light");
  if (state.timeline) drawTimeline();
  if (!server) printGroups();
  return () => {
    isOnPaper = false;
    byId("paper").replaceChildren();
    byId("group-episodes").open = open;
    useColors(theme);
    changed();
  };
}

/** Light or dark colors of what is drawn from now on; undefined: those of the system.  The charts are
    not drawn again: this takes longer than the browser waits before it prints. */
function useColors(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  colors = null;
}

/** One printed page per group with a timeline, with the open group as the reader sees it. */
function printGroups() {
  const shown = { ...state };
  const inFile = groups.filter((row) => timelines.has(row.group_id));
  byId("paper").replaceChildren(...inFile.slice(0, MOST_PRINTED).map((row) => printedGroup(row, shown)));
  const left = groups.length - Math.min(inFile.length, MOST_PRINTED);
  if (left) byId("paper").append(element("p", { class: "muted" }, `${many(left, "more group")} not printed: regroup report --group NAME writes a page for one group.`));
  if (!shown.timeline) return;
  openGroup(shown.timeline.group);
  Object.assign(state, shown);
}

function printedGroup(row, shown) {
  openGroup(row.group_id);
  if (shown.timeline && row.group_id === shown.timeline.group) Object.assign(state, shown);
  drawTimeline();
  const { episodes, base_ms: base } = state.timeline;
  const left = episodes.length - MOST_LINES;
  return element("section", { class: "sheet" }, element("h2", {}, row.group_id),
    element("p", { class: "muted" }, byId("timeline-note").textContent),
    element("p", {}, GROUP_COLUMNS.filter(({ text }) => text).map(({ title, text }) => `${title}: ${text(row)}`).join("; ")),
    copyOf(byId("canvas")),
    lanesLeft(),
    element("ul", {}, ...episodes.slice(0, MOST_LINES).map((each) =>
      element("li", {}, `${clock(base + each.from_ms, hasDays)}: ${each.summary}`))),
    left > 0 ? element("p", { class: "muted" }, `${many(left, "more episode")} not printed.`) : null);
}

function copyOf(canvas) {
  const copy = element("canvas", { width: canvas.width, height: canvas.height });
  copy.getContext("2d").drawImage(canvas, 0, 0);
  return copy;
}

/** A note if the timeline is too high for a page; null if it has all processes. */
function lanesLeft() {
  const shown = Math.floor((layout.height - layout.head - CHART) / layout.lane);
  return shown < state.lanes.length
    ? element("p", { class: "muted" }, `The first ${shown} of ${many(state.lanes.length, "process", "processes")}.`) : null;
}
