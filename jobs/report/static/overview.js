// The overview of all groups: totals, a sortable table, storms.

const spanMs = page.to_ms - page.from_ms;
const hasDays = clock(page.from_ms, true).slice(0, 10) !== clock(page.to_ms, true).slice(0, 10);

function sum(rows, name) {
  return rows.reduce((total, row) => total + (row[name] || 0), 0);
}

function drawOverview() {
  document.title = plain(`Rebalances of ${page.cluster}`);
  byId("title").textContent = document.title;
  byId("span").textContent =
    `${clock(page.from_ms, true)} to ${clock(page.to_ms, hasDays)} UTC, ${duration(spanMs)}`;
  byId("headline").textContent = plain(headline());
  byId("figures").append(...figures());
  byId("groups-note").textContent = groupsNote();
  byId("groups-filter").addEventListener("input", drawGroups);
  drawGroups();
  drawStorms();
}

function headline() {
  if (!totals.rebalances && !totals.aborted_rebalances) return "No rebalance in this time.";
  const worst = groups[0];
  const why = mainReason(worst.group_id);
  const share = totals.not_stable_ms ? worst.not_stable_ms / totals.not_stable_ms : 0;
  const most = groups.length > 1 ? `, ${percent(share)} of all groups' time not Stable` : "";
  return (
    `${worst.group_id} was not Stable longest: ${duration(worst.not_stable_ms)} in ` +
    `${many(worst.rebalances, "rebalance")}${most}${why ? `; most frequent cause: ${why}` : ""}.`
  );
}

/** The most frequent cause of a group: "a process restarted (5 of 16 times)". */
function mainReason(group) {
  const mine = causesOfGroups.filter((row) => row.group_id === group);
  const first = mine[0];
  if (!first) return "";
  const all = sum(mine, "rebalances");
  return `${sentence(first.cause, first.story, "a process")} (${first.rebalances} of ${all} times)`;
}

function figures() {
  const aborted = totals.aborted_rebalances ? `and ${counted(totals.aborted_rebalances)} aborted` : "";
  const longest = groups.find((group) => group.longest_ms === totals.longest_ms);
  const entries = [
    ["Groups", counted(totals.groups), ""],
    ["Rebalances", counted(totals.rebalances), aborted],
    ["Time not Stable", duration(totals.not_stable_ms), "sum over all groups"],
    ["Longest rebalance", duration(totals.longest_ms), longest ? longest.group_id : ""],
    ["Partition downtime", duration(totals.unavailable_ms), "sum over unowned partitions"],
    ["Storms", counted(storms.length), storms.length ? "" : "never five rebalances in a row"],
  ];
  return entries.map(([name, value, more]) =>
    element("div", {}, element("dt", {}, name),
      element("dd", {}, value, more ? element("small", {}, more) : null)));
}

function groupsNote() {
  const left = totals.groups - groups.length;
  const without = groups.length - timelines.size;
  const notes = [];
  if (left) notes.push(`${many(left, "group")} with less time not Stable ${left === 1 ? "is" : "are"} not listed.`);
  if (without) {
    notes.push(`${many(without, "listed group")} without a timeline, because the page's size is limited: ` +
      "regroup report --group NAME writes a page for one group.");
  }
  if (groups.some((group) => group.is_partly_unlogged)) {
    notes.push("≥: a lower limit, because some generations have no log.");
  }
  return notes.join(" ");
}

const GROUP_COLUMNS = [
  { name: "group_id", title: "Group", cell: groupCell },
  { name: "rebalances", title: "Rebalances" },
  { name: "trend", title: "When", cell: (row) => sparkline(row.group_id), unsorted: true },
  { name: "not_stable_ms", title: "Not Stable", cell: notStableCell },
  { name: "why", title: "Most frequent cause", cell: (row) => row.why, wide: true },
  { name: "share", title: "Share of time", text: (row) => percent(row.share) },
  { name: "longest_ms", title: "Longest", text: (row) => duration(row.longest_ms) },
  { name: "p50_ms", title: "Median", text: (row) => duration(row.p50_ms) },
  { name: "unavailable_ms", title: "Partition downtime", text: (row) => duration(row.unavailable_ms) },
  { name: "partitions_moved", title: "Moved", text: movedText },
  { name: "aborted_rebalances", title: "Aborted" },
  { name: "protocol", title: "Assignor", cell: (row) => row.protocol || "–" },
];
const groupOrder = { name: "not_stable_ms", down: true };

for (const group of groups) {
  group.share = (group.not_stable_ms || 0) / Math.max(group.with_members_ms, 1);
  group.why = mainReason(group.group_id);
}

function movedText(row) {
  if (row.partitions_moved === null) return "–";
  return `${counted(row.partitions_moved)} (${counted(row.moves_forced)} forced)`;
}

function groupCell(row) {
  if (!timelines.has(row.group_id)) return element("span", { title: plain(row.group_id) }, row.group_id);
  const show = () => showGroup(row.group_id);
  return element("button", { type: "button", class: "name", title: plain(row.group_id), onclick: show }, row.group_id);
}

function notStableCell(row) {
  const most = Math.max(1, ...groups.map((group) => group.not_stable_ms || 0));
  const meter = element("span", { class: "meter" });
  meter.style.width = `${Math.max(1, Math.round((70 * (row.not_stable_ms || 0)) / most))}px`;
  const least = row.is_partly_unlogged ? "≥ " : "";
  return element("span", {}, `${least}${duration(row.not_stable_ms)}`, meter);
}

function drawGroups() {
  const filter = byId("groups-filter").value.toLowerCase();
  const rows = groups.filter((row) =>
    `${row.group_id} ${row.why} ${row.protocol}`.toLowerCase().includes(filter));
  rows.sort((a, b) => compare(a[groupOrder.name], b[groupOrder.name]));
  if (groupOrder.down) rows.reverse();
  const head = element("tr", {}, ...GROUP_COLUMNS.map(groupHead));
  const body = rows.map((row) => {
    const selected = row.group_id === shownGroup() ? "selected" : null;
    return element("tr", { class: selected }, ...GROUP_COLUMNS.map((column) => groupData(column, row)));
  });
  byId("groups").replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
}

function compare(a, b) {
  if (typeof a === "string" || typeof b === "string") {
    return String(a || "").localeCompare(String(b || ""), "en", { numeric: true });
  }
  return (a ?? -1) - (b ?? -1);
}

function groupHead(column) {
  if (column.unsorted) return element("th", { scope: "col" }, column.title);
  const sorted = groupOrder.name === column.name ? (groupOrder.down ? "descending" : "ascending") : "none";
  const sort = () => {
    groupOrder.down = groupOrder.name === column.name ? !groupOrder.down : true;
    groupOrder.name = column.name;
    drawGroups();
    const again = byId("groups").querySelector(`th[data-name="${column.name}"] button`);
    if (again) again.focus();
  };
  return element("th", { scope: "col", "aria-sort": sorted, "data-name": column.name },
    element("button", { type: "button", onclick: sort }, column.title));
}

function groupData(column, row) {
  if (column.name === "group_id") return element("th", { scope: "row" }, column.cell(row));
  if (column.cell) return element("td", { class: column.wide ? "wide" : null }, column.cell(row));
  const text = column.text ? column.text(row) : counted(row[column.name] || 0);
  return element("td", { class: "number" }, text);
}

/** Rebalances per part of the time, as small bars. */
function sparkline(group) {
  const { parts, counts } = sparks;
  const heights = new Array(parts).fill(0);
  for (const [part, count] of counts[group] || []) heights[Math.min(part, parts - 1)] += count;
  const most = Math.max(1, ...heights);
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  for (const [name, value] of Object.entries({
    class: "spark", width: 90, height: 18, role: "img",
    "aria-label": `rebalances over time; at most ${most} in one of ${parts} parts`,
  })) picture.setAttribute(name, value);
  heights.forEach((count, at) => {
    if (!count) return;
    const height = Math.max(2, (16 * count) / most);
    const bar = document.createElementNS(space, "rect");
    for (const [name, value] of Object.entries({
      x: at * 3, y: 18 - height, width: 2.4, height, fill: "var(--muted)",
    })) bar.setAttribute(name, value);
    picture.append(bar);
  });
  return picture;
}

const STORM_COLUMNS = ["from", "group", "lasted", "rebalances", "not Stable", "main cause", "triggered by"];

function drawStorms() {
  byId("storms-part").hidden = !storms.length;
  const head = STORM_COLUMNS.map((name) => element("th", { scope: "col" }, name));
  const body = storms.map((storm) => {
    const show = () => {
      if (!openGroup(storm.group_id)) return;
      drawGroups();
      showTime(storm.start_ms, storm.end_ms);
    };
    const from = clock(storm.start_ms, hasDays);
    const open = timelines.has(storm.group_id)
      ? element("button", { type: "button", class: "name", onclick: show }, from)
      : element("span", {}, from);
    const mainCause = `${storm.dominant_cause || "cause not logged"}, ${Math.round(storm.dominant_percent)} %`;
    return element("tr", {}, element("th", { scope: "row" }, open),
      element("td", {}, storm.group_id),
      element("td", { class: "number" }, duration(storm.end_ms - storm.start_ms)),
      element("td", { class: "number" }, counted(storm.generations)),
      element("td", { class: "number" }, duration(storm.not_stable_ms)),
      element("td", {}, mainCause),
      element("td", {}, many(storm.culprits, "process", "processes")));
  });
  byId("storms").replaceChildren(
    element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
}
