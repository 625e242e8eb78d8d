// Two groups, or two times, shown side by side.

const COMPARED = [
  ["groups", "groups", counted],
  ["rebalances", "rebalances", counted],
  ["aborted_rebalances", "aborted rebalances", counted],
  ["superseded_targets", "superseded targets, among the rebalances", counted],
  ["not_stable_ms", "time not Stable", duration],
  ["longest_ms", "longest rebalance", duration],
  ["unowned_partition_ms", "partition downtime (partition-seconds)", downtime],
  ["unserved_ms", "owned, not served (partition-seconds)", downtime],
  ["records_reprocessed", "records handled again", counted],
  ["partitions_moved", "partitions moved", counted],
  ["moves_forced", "of these, forced", counted],
];
const COMPARE_FIELDS = ["group", "from", "to", "other_group", "other_from", "other_to"];

function compareField(name) {
  return byId(`compare-${name.replaceAll("_", "-")}`);
}

function showCompare() {
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const name of COMPARE_FIELDS) {
    if (asked.has(name)) compareField(name).value = asked.get(name);
  }
  byId("compare-form").onsubmit = (event) => {
    event.preventDefault();
    runComparison();
  };
  if (COMPARE_FIELDS.some((name) => asked.has(name))) runComparison();
}

async function runComparison() {
  const asked = Object.fromEntries(COMPARE_FIELDS.map((name) => [name, compareField(name).value.trim()]));
  history.replaceState(null, "", `#${queryOf({ view: "compare", ...asked })}`);
  byId("compare-note").textContent = "";
  const answer = await ask("compare", asked).catch((error) => { byId("compare-note").textContent = plain(error.message); });
  if (!answer) return;
  const { one, other } = answer;
  const figures = COMPARED.map(([name, words, text]) =>
    compareRow(words, one.totals[name], other.totals[name], text));
  const kinds = comparedCounts(one.kinds || [], other.kinds || [], (each) => kindWords(each.kind), "episodes");
  const causes = comparedCounts(one.causes, other.causes, (each) => sentence(each.cause, each.story, null), "generations");
  fillTable(byId("compared"), ["figure", "first", "second", "second minus first"].map(columnHead),
    [...figures, ...compareHead("Episodes", kinds), ...kinds, ...compareHead("Triggers of rebalances", causes), ...causes]);
  byId("compare-json").href = addressOfAnswer("compare", asked);
  byId("compare-json").hidden = false;
}

function compareHead(words, rows) {
  return rows.length ? [element("tr", { class: "part" }, element("th", { colspan: 4, scope: "colgroup" }, words))] : [];
}

/** A row per kind or cause that either side has, most frequent first. */
function comparedCounts(one, other, words, name) {
  const counts = new Map();
  [one, other].forEach((side, at) => {
    for (const each of side) {
      const key = words(each);
      if (!counts.has(key)) counts.set(key, [0, 0]);
      counts.get(key)[at] += each[name];
    }
  });
  return [...counts].sort(([, a], [, b]) => b[0] + b[1] - a[0] - a[1])
    .map(([key, [first, second]]) => compareRow(key, first, second, counted));
}

function compareRow(words, one, other, text) {
  const show = (value) => (value === null ? "–" : text(value));
  const change = one === null || other === null ? "–" : `${other > one ? "+" : other < one ? "−" : ""}${text(Math.abs(other - one))}`;
  return element("tr", {}, element("th", { scope: "row" }, words),
    ...[show(one), show(other), change].map((cell) => element("td", { class: "number" }, cell)));
}
