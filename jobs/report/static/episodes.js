// Episodes: the root causes of rebalances, in the headline and above the lanes.

const KIND_WORDS = {
  group_start: "group started", rolling_deployment: "rolling deployment", restart: "restart",
  whole_group_restart: "restart of the whole group", shutdown: "shutdown",
  scale_out: "scale out", scale_in: "scale in", process_lost: "process lost",
  host_lost: "host lost", process_frozen: "process frozen or cut off",
  process_lost_or_frozen: "process lost or frozen", slow_poll: "slow poll",
  flapping_member: "flapping member", instance_id_conflict: "conflict of instance ids",
  group_full: "group full", assignment_failed: "assignment failed",
  topic_change: "topic change", configuration_change: "configuration change",
  coordinator_failover: "coordinator failover", group_deleted: "group deleted",
  unknown: "root cause unknown",
  broker_upgrade: "brokers upgraded", broker_downgrade: "brokers downgraded",
  rolling_broker_restart: "rolling restart of brokers", broker_restart: "broker restarted",
  broker_crash: "broker crashed", broker_stop: "broker stopped",
};
const KIND_FAMILY = {
  group_start: "joining", scale_out: "joining", rolling_deployment: "leaving", restart: "leaving",
  whole_group_restart: "leaving", shutdown: "leaving", scale_in: "leaving",
  process_lost: "failing", host_lost: "failing", process_frozen: "failing",
  process_lost_or_frozen: "failing", slow_poll: "failing",
  flapping_member: "failing", instance_id_conflict: "failing", group_full: "failing",
  assignment_failed: "failing", topic_change: "changing",
  configuration_change: "changing", coordinator_failover: "changing", group_deleted: "changing",
  broker_upgrade: "changing", broker_downgrade: "changing", rolling_broker_restart: "changing",
  broker_restart: "changing", broker_crash: "failing", broker_stop: "changing",
};
const listed = page.episodes ? objects(page.episodes.listed) : [];
const kinds = page.episodes ? objects(page.episodes.kinds) : [];
const kindsOfGroups = new Map(page.episodes ? page.episodes.of_groups : []);

function kindWords(kind) {
  return KIND_WORDS[kind] || kind;
}

/** "2 × slow poll, scale out": the kinds of a group's episodes, the costliest first. */
function kindsText(ofGroup) {
  return (ofGroup || [])
    .map(({ kind, episodes }) => (episodes > 1 ? `${episodes} × ${kindWords(kind)}` : kindWords(kind)))
    .join(", ");
}

/** A link to a time of a group, with a margin around it; times in ms since the epoch. */
function timeLink(group, from, to, text) {
  const margin = Math.max((to - from) * 0.15, 1000);
  const href = addressOf({ group, from: Math.floor(from - margin), to: Math.ceil(to + margin) });
  return element("a", { href, onclick: () => setTimeout(scrollToTimeline) }, text);
}

function drawHeadline() {
  byId("episodes").replaceChildren(...kinds.map(kindItem));
  byId("episodes-part").hidden = !kinds.length;
  const brokers = page.broker_episodes ? objects(page.broker_episodes) : [];
  byId("brokers").replaceChildren(...brokers.map(brokerItem));
  byId("brokers-part").hidden = !brokers.length;
}

function brokerItem(each) {
  const when = `${clock(each.from_ms, hasDays)} to ${clock(each.to_ms)}`;
  return element("li", {}, kindSwatch(each.kind), element("span", {}, `${when}: ${each.summary}`));
}

/** A square with the color of the kind's family. */
function kindSwatch(kind) {
  const swatch = element("span", { class: "swatch" });
  swatch.style.background = `var(--${KIND_FAMILY[kind] || "other"})`;
  return swatch;
}

/** One kind: its only episode, or its figures and below them the list of its episodes. */
function kindItem(row) {
  const mine = listed.filter((each) => each.kind === row.kind);
  const swatch = kindSwatch(row.kind);
  if (row.episodes === 1 && mine.length === 1) {
    return element("li", {}, swatch, element("span", {}, ...episodeText(mine[0])));
  }
  const box = element("details", {}, element("summary", {}, element("strong", {}, kindWords(row.kind)), `: ${kindFigures(row)}`));
  const list = element("ul", {});
  box.append(list);
  box.addEventListener("toggle", () => {
    if (!list.children.length) list.append(...episodeItems(mine, row.episodes));
  });
  return element("li", {}, swatch, box);
}

function kindFigures(row) {
  const where = totals.groups > 1 ? ` in ${many(row.groups, "group")}` : "";
  return [
    `${many(row.episodes, "episode")}${where}`,
    row.processes ? many(row.processes, "process", "processes") : "",
    row.rebalances ? many(row.rebalances, "rebalance") : "",
    row.not_stable_ms ? `${duration(row.not_stable_ms)} not stable` : "",
    kindDowntime(row),
    row.unserved_partition_ms ? `${partitionSeconds(row.unserved_partition_ms)} owned but not served` : "",
    row.records_reprocessed ? `${many(row.records_reprocessed, "record")} handled again` : "",
  ].filter(Boolean).join(", ");
}

/** Partition downtime of the episodes of a kind; it may be unknown for some of the episodes. */
function kindDowntime(row) {
  const isWhole = row.with_downtime === row.episodes;
  if (row.unowned_partition_ms) {
    const range = downtimeRange(row.unowned_partition_ms_low, row.unowned_partition_ms_high);
    return `${isWhole ? "" : "at least "}${partitionSeconds(row.unowned_partition_ms)}${range}`;
  }
  return isWhole ? "no partition downtime" : "partition downtime unknown without records and logs";
}

function partitionSeconds(ms) {
  return many(Math.round(ms / 1000), "partition-second");
}

function episodeItems(mine, count) {
  const items = mine.map((each) => element("li", {}, ...episodeText(each)));
  const left = count - items.length;
  if (left) items.push(element("li", { class: "muted" }, `${many(left, "more episode")} of this kind that cost less: in the timelines of their groups.`));
  return items;
}

/** "billing-3 00:47:10: rolling deployment of 6 processes: ...", where the time is a link. */
function episodeText(each) {
  const text = `${each.group_id}, ${clock(each.from_ms, hasDays)}`;
  return [timeLink(each.group_id, each.from_ms, each.to_ms, text), `: ${each.summary}`];
}

/** All episodes of the shown group as text; each has a link that zooms to it. */
function drawGroupEpisodes() {
  const { episodes, base_ms: base } = state.timeline;
  const box = byId("group-episodes");
  box.hidden = !episodes.length;
  const items = episodes.map((each) => element("li", {},
    timeLink(shownGroup(), base + each.from_ms, base + each.to_ms, clock(base + each.from_ms, hasDays)),
    `: ${each.summary}`));
  box.replaceChildren(element("summary", {}, many(episodes.length, "episode")), element("ul", {}, ...items));
}

function episodeLines(each, base) {
  const names = each.processes.slice(0, 8).join(", ");
  const more = each.processes.length > 8 ? ` and ${each.processes.length - 8} more` : "";
  return [
    each.summary,
    `${clock(base + each.from_ms)} to ${clock(base + each.to_ms)}, ${duration(each.to_ms - each.from_ms)}`,
    names ? `${names}${more}` : "",
    `evidence: ${each.evidence}; confidence ${percent(each.confidence)}`,
  ].filter(Boolean);
}

function seeEpisode(each) {
  const margin = Math.max((each.to_ms - each.from_ms) * 0.15, 1000);
  see(each.from_ms - margin, each.to_ms + margin);
}
