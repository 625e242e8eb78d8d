// What-if: observed and predicted figures, if the lake has them.

const WHAT_IF_COLUMNS = [
  ["unavailable_partition_ms", "partition downtime", downtime],
  ["not_stable_ms", "not Stable", duration],
  ["rebalances", "rebalances", counted],
  ["moved_partitions", "partitions moved", counted],
  ["records_reprocessed", "records handled again", known(counted)],
  ["consumption_pause_ms", "consumption pauses", known(downtime)],
  ["catch_up_ms", "longest catch-up", known(duration)],
];
const BASIS_WORDS = {
  observed: "observed", model: "model with the same settings", predicted: "predicted",
};

function drawWhatIf() {
  const box = byId("what-if");
  const title = element("h3", {}, "What if");
  const rows = state.timeline.what_if ? objects(state.timeline.what_if) : [];
  if (!rows.length) {
    box.replaceChildren(title, ...adviceOfGroup(), element("p", { class: "muted" },
      `No what-if of ${shownGroup()} in this lake: run regroup what-if-sweep.`), ...outcomesOfGroup());
    return;
  }
  const columns = WHAT_IF_COLUMNS.filter(([name]) => rows.some((row) => row[name] !== null));
  const heads = ["setting", "basis", ...columns.map(([, name]) => name)].map(columnHead);
  const table = fillTable(element("table"), heads, rows.map((row) => whatIfRow(row, rows, columns)));
  box.replaceChildren(title, ...adviceOfGroup(), element("div", { class: "scroll", tabindex: 0 }, table),
    ...outcomesOfGroup());
}

function adviceOfGroup() {
  const rows = state.timeline.advice ? objects(state.timeline.advice) : [];
  return rows.map((row) => adviceCard(row, [], false));
}

function whatIfRow(row, rows, columns) {
  const cells = columns.map(([name, , text]) => {
    const most = Math.max(1, ...rows.map((each) => each[name] || 0));
    const meter = element("span", { class: "meter" });
    meter.style.width = `${Math.max(1, Math.round((60 * (row[name] || 0)) / most))}px`;
    return element("td", {}, `${text(row[name])}${spread(row, name, text)}`, meter);
  });
  const setting = row.settings || row.setting;  // rows of earlier versions have KEY=VALUE only
  return element("tr", { class: row.pareto === false ? "muted" : "" },
    element("th", { scope: "row" }, setting),
    element("td", {}, BASIS_WORDS[row.basis] || row.basis), ...cells);
}

/** The text of a figure that is unknown without commits. */
function known(text) {
  return (value) => value === null ? "–" : text(value);
}

/** The ends of the range, if they differ. */
function spread(row, name, text) {
  const [least, most] = [row[`${name}_min`], row[`${name}_max`]].map(text);
  return least === most ? "" : ` (${least} to ${most})`;
}
