// Before and after a conversion of the group: view q10_by_protocol.

const PERIOD_COLUMNS = [
  ["from", (p) => clock(p.from_ms, hasDays)],
  ["lasted", (p) => duration(p.until_ms - p.from_ms), "number"],
  ["rebalances", rebalancesText, "number"],
  ["not Stable", (p) => duration(p.not_stable_ms), "number"],
  ["share of time", (p) => percent(shareOf(p.not_stable_ms, p.with_members_ms)), "number"],
  ["partition downtime", (p) => downtime(p.unowned_partition_ms), "number"],
  ["moved", (p) => (p.partitions_moved === null ? "–" : counted(p.partitions_moved)), "number"],
  ["restarts", (p) => counted(p.restarts), "number"],
  ["downtime per restart", (p) => downtime(p.per_restart_ms), "number"],
];

/** One row per period with one group type, if the shown group was converted. */
function drawPeriods() {
  const { periods } = state.timeline;
  const box = byId("periods");
  box.hidden = !periods;
  if (!periods) return;
  const rows = objects(periods).map((period) => element("tr", {},
    element("th", { scope: "row" }, period.group_type),
    ...PERIOD_COLUMNS.map(([, text, kind]) => element("td", { class: kind || null }, text(period)))));
  const heads = ["group type", ...PERIOD_COLUMNS.map(([name]) => name)].map(columnHead);
  box.replaceChildren(element("h3", {}, "Before and after the conversion"),
    element("div", { class: "scroll", tabindex: 0 }, fillTable(element("table", { id: "periods-table" }), heads, rows)));
}
