// The groups: a table to search and sort, in which similar groups are folded.

const UNFOLDED = 20; // up to this many matches of a search are not folded
const MORE_ROWS = 100;
const GROUP_COLUMNS = [
  { name: "group_id", title: "Group", cell: groupCell },
  { name: "rebalances", title: "Rebalances", text: rebalancesText },
  { name: "trend", title: "When", cell: (row) => sparkline(row), unsorted: true },
  { name: "not_stable_ms", title: "Not Stable", cell: notStableCell },
  { name: "why", title: page.episodes ? "Episodes" : "Most frequent cause", cell: (row) => row.why || "–", kind: "wide" },
  { name: "unowned_partition_ms", title: "Partition downtime", text: (row) => leastDowntime(row) + rangeOf(row) },
  { name: "unserved_ms", title: "Owned, not served", text: (row) => downtime(row.unserved_ms) },
  { name: "records_reprocessed", title: "Handled again", text: (row) => row.records_reprocessed === null ? "–" : counted(row.records_reprocessed) },
  { name: "share", title: "Share of time", text: (row) => knownBegin(row, row.share, percent) },
  { name: "longest_ms", title: "Longest", text: (row) => knownBegin(row, row.longest_ms, duration) },
  { name: "p50_ms", title: "Median", text: (row) => duration(row.p50_ms) },
  { name: "partitions_moved", title: "Moved (forced)", text: movedText },
  { name: "protocol", title: "Assignor", cell: (row) => row.protocol || "–", kind: "wrap" },
];
const groupOrder = { name: totals.not_stable_ms === null ? "unowned_partition_ms" : "not_stable_ms", down: true };
const unfolded = new Set(); // keys of folds that the reader opened
let groupsShown = MORE_ROWS;
let longestBar = 1;

for (const group of groups) {
  group.members = [group.group_id];
  group.share = shareOf(group.not_stable_ms, group.with_members_ms);
  group.why = page.episodes ? kindsText(kindsOfGroups.get(group.group_id)) : mainReason(causesByGroup.get(group.group_id) || []);
  group.text = `${group.group_id} ${group.why} ${group.protocol} ${typesText(group.types)}`.toLowerCase();
}

function startGroups() {
  byId("fold").checked = totals.groups >= FOLD_FROM;
  byId("fold-part").hidden = totals.groups < 2;
  for (const id of ["fold", "favourites"]) byId(id).addEventListener("change", updateGroups);
  byId("groups-filter").addEventListener("input", () => {
    groupsShown = MORE_ROWS;
    updateGroups();
  });
  byId("more-groups").addEventListener("click", () => {
    groupsShown += 5 * MORE_ROWS;
    updateGroups();
  });
  updateGroups();
}

function movedText(row) {
  if (row.partitions_moved === null) return "–";
  return `${counted(row.partitions_moved)} (${counted(row.moves_forced)})`;
}

/** The text beside a number of rebalances: aborted rebalances, including superseded targets. */
function otherKinds(row) {
  return [
    row.aborted_rebalances ? `and ${counted(row.aborted_rebalances)} aborted` : "",
    row.superseded_targets ? many(row.superseded_targets, "superseded target") : "",
  ].filter(Boolean).join("; ");
}

function rebalancesText(row) {
  const others = otherKinds(row);
  return `${counted(row.rebalances)}${others && ` (${others})`}`;
}

/** The kinds of a group's episodes, or its most frequent cause if it has no episodes. */
function story(group) {
  if (!page.episodes) return (causesByGroup.get(group.group_id) || [{}])[0].cause;
  return (kindsOfGroups.get(group.group_id) || []).map(({ kind }) => kind).sort().join();
}

/** Groups look alike that differ in the digits of their names only, with the same assignor, the same
 * kinds of episodes, and partition downtime of one order of magnitude. */
function likeness(group) {
  const size = group.unowned_partition_ms === null ? null : Math.round(Math.log10(group.unowned_partition_ms / 1000 + 1));
  return JSON.stringify([namePattern(group.group_id), group.types, group.protocol, story(group), size]);
}

function namePattern(name) {
  return name.replace(/\d+/g, "*");
}

/** Similar groups as one row each, at the position of the first of these groups. */
function foldedGroups(rows) {
  const alike = new Map();
  for (const row of rows) {
    const key = likeness(row);
    if (!alike.has(key)) alike.set(key, []);
    alike.get(key).push(row);
  }
  return [...alike].map(([key, members]) => (members.length === 1 ? members[0] : foldOf(key, members)));
}

/** One row for several groups, with sums, the longest duration, and the median of the medians. */
function foldOf(key, members) {
  const total = (name) => sumOfKnown(members, name);
  const known = members.filter((row) => row.longest_ms !== null);
  const medians = known.map((row) => row.p50_ms).sort(compare);
  return {
    key, folded: members, count: members.length, members: members.map((row) => row.group_id),
    group_id: namePattern(members[0].group_id), why: kindsOfFold(members), protocol: members[0].protocol,
    rebalances: total("rebalances"), not_stable_ms: total("not_stable_ms"),
    unowned_partition_ms: total("unowned_partition_ms"), unowned_partition_ms_low: total("unowned_partition_ms_low"),
    unowned_partition_ms_high: total("unowned_partition_ms_high"), aborted_rebalances: total("aborted_rebalances"),
    superseded_targets: total("superseded_targets"),
    unserved_ms: total("unserved_ms"), records_reprocessed: total("records_reprocessed"),
    partitions_moved: total("partitions_moved"), moves_forced: total("moves_forced"),
    longest_ms: known.length ? Math.max(...known.map((row) => row.longest_ms)) : null,
    p50_ms: medians[medians.length >> 1],
    share: shareOf(total("not_stable_ms"), total("with_members_ms")),
    is_partly_unlogged: members.some((row) => row.is_partly_unlogged),
  };
}

function kindsOfFold(members) {
  if (!page.episodes) return members[0].why;
  const counts = new Map();
  for (const row of members) {
    for (const { kind, episodes } of kindsOfGroups.get(row.group_id) || []) {
      counts.set(kind, (counts.get(kind) || 0) + episodes);
    }
  }
  return [...counts].map(([kind, count]) => `${counted(count)} × ${kindWords(kind)}`).join(", ");
}

/** A link to the group's timeline. For a fold, a button that shows the fold's groups. */
function groupCell(row) {
  if (row.count) {
    const isOpen = unfolded.has(row.key);
    const turn = () => {
      if (isOpen) unfolded.delete(row.key);
      else unfolded.add(row.key);
      updateGroups();
    };
    const text = `${isOpen ? "▾" : "▸"} ${row.group_id}: ${many(row.count, "group")}`;
    return element("button", { type: "button", class: "name", "aria-expanded": `${isOpen}`,
      title: plain(row.group_id), onclick: turn }, text);
  }
  const title = plain(row.group_id);
  if (!hasTimeline(row.group_id)) return element("span", { title }, row.group_id);
  const link = groupLink(row.group_id);
  link.className = row.inFold ? "name inside" : "name";
  link.title = title;
  const star = starOf(row.group_id);
  if (!hasNewTypes) return element("div", {}, star, link);
  return element("div", {}, star, link, element("small", { class: "type" }, typesText(row.types)));
}

// Favourites are kept in the browser, per cluster.
const FAVOURITES = `regroup favourites ${page.cluster}`;

function favourites() {
  try {
    return new Set(JSON.parse(localStorage.getItem(FAVOURITES) || "[]"));
  } catch { // the browser has no storage, or it has a value that this page did not write
    return new Set();
  }
}

/** A button that adds a group to the favourites, or removes it. */
function starOf(group) {
  const star = element("button", { type: "button", class: "star" });
  const draw = () => {
    const isOne = favourites().has(group);
    star.setAttribute("aria-pressed", `${isOne}`);
    star.setAttribute("aria-label", plain(`favourite: ${group}`));
  };
  star.addEventListener("click", () => {
    const all = favourites();
    if (!all.delete(group)) all.add(group);
    try {
      localStorage.setItem(FAVOURITES, JSON.stringify([...all]));
    } catch { // the star stays unchanged
    }
    draw();
    if (byId("favourites").checked) updateGroups();
  });
  draw();
  return star;
}

function notStableCell(row) {
  const text = knownBegin(row, row.not_stable_ms, duration);
  if (row.not_stable_ms === null) return element("span", {}, text);
  const meter = element("span", { class: "meter" });
  meter.style.width = `${Math.max(1, Math.round((60 * row.not_stable_ms) / longestBar))}px`;
  return element("span", {}, text, meter);
}

function sorted(rows) {
  rows.sort((a, b) => compare(a[groupOrder.name], b[groupOrder.name]));
  return groupOrder.down ? rows.reverse() : rows;
}

/** The rows in order: groups and folds, and the groups of an opened fold below it. */
function groupRows(matching) {
  const isFolded = byId("fold").checked && matching.length > UNFOLDED;
  const rows = sorted(isFolded ? foldedGroups(matching) : [...matching]);
  return rows.flatMap((row) => (row.folded && unfolded.has(row.key)
    ? [row, ...sorted([...row.folded]).map((each) => ({ ...each, inFold: true }))] : [row]));
}

/** What the table shows: its rows, the number of all rows, and the number of matching groups. */
let found = { rows: [], count: 0, groups: 0 };
let searches = 0;

function updateGroups() {
  if (!server) {
    found = ownGroups();
    return drawGroups();
  }
  searches += 1;
  const mine = searches;
  askGroups().then((answer) => {
    if (mine !== searches) return; // the reader has searched for something else
    found = answer;
    drawGroups();
  }, (error) => { byId("groups-count").textContent = plain(error.message); });
}

function ownGroups() {
  const words = byId("groups-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const mine = byId("favourites").checked ? favourites() : null;
  const matching = groups.filter((row) => words.every((word) => row.text.includes(word)) &&
    (!mine || mine.has(row.group_id)));
  const rows = groupRows(matching);
  return { rows: rows.slice(0, groupsShown), count: rows.length, groups: matching.length };
}

/** The parameters of the list of groups, as the reader chose them. */
function groupsAsked() {
  const { name, down } = groupOrder;
  return {
    search: byId("groups-filter").value, sort: name, ascending: !down,
    group: byId("favourites").checked ? [...favourites(), ""] : null, // an empty id makes the list empty if the reader has no favorites
  };
}

async function askGroups() {
  const asked = { ...groupsAsked(), limit: groupsShown };
  let answer = await ask("groups", { ...asked, fold: byId("fold").checked });
  if (answer.groups <= UNFOLDED && answer.rows < answer.groups) answer = await ask("groups", asked);
  const rows = await Promise.all(objects(answer.listed).map(async (row) => {
    const shown = servedRow(row);
    if (!shown.count || !unfolded.has(shown.key)) return [shown];
    const { listed } = await ask("groups", { ...asked, of_fold: row.key });
    return [shown, ...objects(listed).map((each) => ({ ...servedRow(each), inFold: true }))];
  }));
  return { rows: rows.flat(), count: answer.rows, groups: answer.groups };
}

function servedRow(row) {
  const why = row.kinds ? kindsText(row.kinds) : mainReason(row.causes || []);
  return { ...row, why, count: row.size > 1 ? row.size : 0 };
}

function drawGroups() {
  longestBar = Math.max(1, ...found.rows.map((row) => row.not_stable_ms || 0));
  const body = found.rows.map((row) => {
    const selected = row.group_id === shownGroup() && !row.count ? "selected" : null;
    return element("tr", { class: selected }, ...GROUP_COLUMNS.map((column) => groupData(column, row)));
  });
  fillTable(byId("groups"), GROUP_COLUMNS.map(groupHead), body);
  byId("groups-count").textContent = found.groups < totals.groups
    ? `${counted(found.groups)} of ${many(totals.groups, "group")}` : many(totals.groups, "group");
  const left = found.count - groupsShown;
  byId("more-groups").hidden = left <= 0;
  byId("more-groups").textContent = `Show ${counted(Math.min(left, 5 * MORE_ROWS))} more`;
}

function compare(a, b) {
  if (typeof a === "string" || typeof b === "string") {
    return String(a || "").localeCompare(String(b || ""), "en", { numeric: true });
  }
  return (a ?? -1) - (b ?? -1);
}

function groupHead(column) {
  if (column.unsorted) return columnHead(column.title);
  const sorted = groupOrder.name === column.name ? (groupOrder.down ? "descending" : "ascending") : "none";
  const sort = () => {
    groupOrder.down = groupOrder.name === column.name ? !groupOrder.down : true;
    groupOrder.name = column.name;
    updateGroups();
    const again = byId("groups").querySelector(`th[data-name="${column.name}"] button`);
    if (again) again.focus();
  };
  return element("th", { scope: "col", "aria-sort": sorted, "data-name": column.name },
    element("button", { type: "button", onclick: sort }, column.title));
}

function groupData(column, row) {
  if (column.name === "group_id") return element("th", { scope: "row" }, column.cell(row));
  if (column.cell) return element("td", { class: column.kind || null }, column.cell(row));
  const text = column.text ? column.text(row) : counted(row[column.name] || 0);
  return element("td", { class: "number" }, text);
}

/** Rebalances per period of a row's groups, as small bars. */
function sparkline(row) {
  const { parts, counts } = sparks;
  const heights = new Array(parts).fill(0);
  const all = row.members ? row.members.flatMap((group) => counts[group] || []) : row.sparks || [];
  for (const [part, count] of all) heights[Math.min(part, parts - 1)] += count;
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
