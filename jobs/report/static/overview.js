// The overview of all groups: totals, a sortable table, storms.

const ALIKE = 5; // if at least this many episodes are similar, a headline gives only their kind
const spanMs = page.to_ms - page.from_ms;
const hasDays = clock(page.from_ms, true).slice(0, 10) !== clock(page.to_ms, true).slice(0, 10);

function sum(rows, name) {
  return rows.reduce((total, row) => total + (row[name] || 0), 0);
}

/** The sum of the known values; null if all values are unknown. */
function sumOfKnown(rows, name) {
  return rows.some((row) => row[name] !== null) ? sum(rows, name) : null;
}

function drawOverview() {
  document.title = plain(`Rebalances of ${page.cluster}`);
  byId("title").textContent = document.title;
  drawSpan();
  drawFindings();
  drawHeadline();
  drawBudgets();
  drawAdvice();
  drawOutcomes();
  byId("figures").append(...figures());
  byId("groups-note").textContent = groupsNote();
  startGroups();
  drawStorms();
}

function drawSpan() {
  byId("span").textContent =
    `${clock(page.from_ms, true)} to ${clock(page.to_ms, hasDays)} ${zone()}, ${duration(spanMs)}`;
  byId("headline").textContent = plain(headline());
}

function headline() {
  if (!totals.rebalances && !totals.aborted_rebalances) return "No rebalance in this time.";
  if (listed.length) return `Highest cost: ${costliest(listed[0])}.`;
  if (page.episodes) return "Groups only started or shut down in this time.";
  const worst = groups[0];
  const why = mainReason(causesByGroup.get(worst.group_id) || []);
  if (worst.not_stable_ms === null) {
    return `${worst.group_id} had most rebalances: ${counted(worst.rebalances)}${why ? `; most frequent cause: ${why}` : ""}.`;
  }
  const share = totals.not_stable_ms ? worst.not_stable_ms / totals.not_stable_ms : 0;
  const most = groups.length > 1 ? `, ${percent(share)} of all groups' time not Stable` : "";
  return (
    `${worst.group_id} was not Stable longest: ${duration(worst.not_stable_ms)} in ` +
    `${many(worst.rebalances, "rebalance")}${most}${why ? `; most frequent cause: ${why}` : ""}.`
  );
}

/** The costliest episode. If several episodes are similar, their kind and number. */
function costliest(episode) {
  if (episode.alike < ALIKE) return `${episode.group_id}, ${clock(episode.from_ms, hasDays)}: ${episode.summary}`;
  const where = episode.alike_groups > 1
    ? `${many(episode.alike_groups, "group")} ${episode.pattern}` : episode.group_id;
  const cost = episode.alike_cost_ms ? `, ${partitionSeconds(episode.alike_cost_ms)} without an owner or not served` : "";
  return `${kindWords(episode.kind)}: ${many(episode.alike, "episode")} in ${where}${cost}`;
}

const causesByGroup = new Map();
for (const row of causesOfGroups) {
  if (!causesByGroup.has(row.group_id)) causesByGroup.set(row.group_id, []);
  causesByGroup.get(row.group_id).push(row);
}

/** The most frequent cause of a group: "a process restarted (5 of 16 times)". */
function mainReason(mine) {
  const first = mine[0];
  if (!first) return "";
  const all = sum(mine, "generations");
  return `${sentence(first.cause, first.story, "a process")} (${first.generations} of ${all} times)`;
}

const NO_BEGIN = "no log shows when rebalances began: add it with regroup nightly --broker-log";

function figures() {
  const isKnown = totals.not_stable_ms !== null;
  const longest = isKnown ? groups.find((group) => group.longest_ms === totals.longest_ms) : null;
  const entries = [
    ["Groups", counted(totals.groups), ""],
    ["Rebalances", counted(totals.rebalances), otherKinds(totals)],
    ["Time not Stable", knownBegin(totals, totals.not_stable_ms, duration), isKnown ? "sum over all groups" : NO_BEGIN],
    ["Longest rebalance", knownBegin(totals, totals.longest_ms, duration), longest ? longest.group_id : ""],
    ["Partition downtime", leastDowntime(totals), `partition-seconds, all groups${rangeOf(totals)}`],
    ...totals.unserved_ms === null ? [] : [["Owned, not served", downtime(totals.unserved_ms), "partition-seconds, all groups"]],
    ...totals.records_reprocessed === null ? [] : [["Handled again", counted(totals.records_reprocessed), "records, estimated"]],
    ["Storms", counted(page.storms_count ?? storms.length), storms.length ? "" : "never five generations in a row"],
  ];
  return entries.map(([name, value, more]) =>
    element("div", {}, element("dt", {}, name),
      element("dd", {}, value, more ? element("small", {}, more) : null)));
}

function groupsNote() {
  const left = server ? 0 : totals.groups - groups.length;
  const without = groups.filter((group) => !hasTimeline(group.group_id)).length;
  const notes = [];
  if (left) notes.push(`${many(left, "group")} with less time not Stable ${left === 1 ? "is" : "are"} not listed.`);
  if (without) {
    notes.push(`${many(without, "listed group")} without a timeline, because the page's size is limited: ` +
      "regroup report --group NAME writes a page for one group.");
  }
  if (totals.is_partly_unlogged) {
    notes.push("≥ or unknown: for some generations, no log shows when the rebalance began; regroup nightly --broker-log adds it.");
  }
  return notes.join(" ");
}

const STORM_COLUMNS = ["from", "group", "lasted", "rebalances", "not Stable", "main cause", "triggered by"];

let stormsShown = 20;

function drawStorms() {
  byId("storms-part").hidden = !storms.length;
  const body = storms.slice(0, stormsShown).map((storm) => {
    const show = () => {
      openThen(storm.group_id, () => showTime(storm.start_ms, storm.end_ms));
    };
    const from = clock(storm.start_ms, hasDays);
    const open = hasTimeline(storm.group_id)
      ? element("button", { type: "button", class: "name", onclick: show }, from)
      : element("span", {}, from);
    const cause = storm.dominant_cause ? sentence(storm.dominant_cause, null, null) : "cause not logged";
    const mainCause = `${cause}, ${Math.round(storm.dominant_percent)} %`;
    return element("tr", {}, element("th", { scope: "row" }, open),
      element("td", {}, storm.group_id),
      element("td", { class: "number" }, duration(storm.end_ms - storm.start_ms)),
      element("td", { class: "number" }, rebalancesText(storm)),
      element("td", { class: "number" }, duration(storm.not_stable_ms)),
      element("td", {}, mainCause),
      element("td", {}, many(storm.culprits, "process", "processes")));
  });
  fillTable(byId("storms"), STORM_COLUMNS.map(columnHead), body);
  byId("more-storms").hidden = storms.length <= stormsShown;
  byId("more-storms").textContent = `Show all ${counted(storms.length)}`;
}
