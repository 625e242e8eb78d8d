// Earlier advice: whether it was carried out, and with which result.

const FIRST_OUTCOMES = 3;
const OUTCOME_FIGURES = {
  unavailable_partition_ms: ["partition downtime (partition-seconds)", downtime],
  rebalances: ["rebalances", counted],
  not_stable_ms: ["not Stable", duration],
  moved_partitions: ["partitions moved", counted],
  records_reprocessed: ["records handled again", counted],
  consumption_pause_ms: ["consumption pauses (partition-seconds)", downtime],
};

/** Earlier advice for all groups, compared advice first. */
function drawOutcomes() {
  const rows = page.outcomes ? objects(page.outcomes) : [];
  const cards = rows.map((row) => outcomeCard(row, true));
  byId("outcomes-part").hidden = !cards.length;
  byId("outcomes").replaceChildren(...cards.slice(0, FIRST_OUTCOMES));
  const more = cards.slice(FIRST_OUTCOMES);
  if (more.length) {
    byId("outcomes").append(element("details", {},
      element("summary", {}, many(more.length, "other change")), ...more));
  }
}

/** One piece of advice: its verdict, and the figures or the reason why nothing is compared. */
function outcomeCard(row, withGroup) {
  const lead = element("p", { class: "lead" });
  if (withGroup) lead.append(groupLink(row.group_id), ": ");
  lead.append(`${plain(row.settings)}: `, element("strong", {}, row.verdict || "not carried out so far"));
  const facts = [
    ["advised", clock(row.first_advised_ms, true)],
    ["carried out", carriedOut(row)],
    ["compared", row.figures && `${many(row.deployments_before, "deployment")} before and `
      + `${row.deployments_after} after, ${row.kind.replaceAll("_", " ")} of ${many(row.processes, "process", "processes")}`],
    ["reason", row.figures ? null : row.reason],
    ["interval", row.interval_basis],
    ["also changed", row.other_changes],
  ].filter(([, text]) => text);
  return element("article", { class: "advice" }, lead,
    row.figures ? outcomeTable(row.figures) : null,
    element("dl", {}, ...facts.flatMap(([name, text]) =>
      [element("dt", {}, name), element("dd", {}, plain(text))])));
}

function carriedOut(row) {
  if (row.from_ms === null) return null;
  if (row.to_ms === null) return `since ${clock(row.from_ms, true)}, ${row.evidence}`;
  return `${clock(row.from_ms, true)} to ${clock(row.to_ms, true)}: ${row.evidence}`;
}

function outcomeTable(figures) {
  const heads = ["figure", "before", "predicted", "as predicted within", "after", "verdict"].map(columnHead);
  const rows = figures.map((each) => {
    const [name, text] = OUTCOME_FIGURES[each.figure];
    const observed = (side) => `${text(each[side])}${spread(each, side, text)}`;
    return element("tr", { class: each.promised ? "" : "muted" },
      element("th", { scope: "row" }, name),
      ...[observed("before"), text(each.predicted), `${text(each.low)} to ${text(each.high)}`,
        observed("after"), each.verdict].map((cell) => element("td", {}, cell)));
  });
  return element("div", { class: "scroll", tabindex: 0 }, fillTable(element("table"), heads, rows));
}

/** All advice that the shown group was given earlier, the latest first. */
function outcomesOfGroup() {
  const rows = state.timeline.outcomes ? objects(state.timeline.outcomes) : [];
  if (!rows.length) return [];
  return [element("h4", {}, "What became of earlier advice"), ...rows.map((row) => outcomeCard(row, false))];
}
