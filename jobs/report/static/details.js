// The timeline as text: the selected generation, and a table of all generations in view.

const LEFT_WORDS = {
  left: "left", session_expired: "session expired", dropped: "removed: did not rejoin or give up partitions",
  replaced: "replaced",
};
const ROLE_WORDS = {
  trigger: "triggered generation", contributing: "during the join phase of generation",
  absorbed: "no rebalance, generation",
};
const OUTCOME_WORDS = {
  stable: "Stable", empty: "empty", superseded: "superseded", failed: "failed", unknown: "unknown",
};
const COORDINATOR_WORDS = {
  LOADED: "group loaded by its coordinator", UNLOADED: "group unloaded by its coordinator",
  STORE_FAILED: "the assignment could not be stored", GROUP_DEAD: "group removed",
  ADMIN_DELETE: "group deleted by an administrator",
};
const FIRST_ROWS = 50;
let rowsShown = FIRST_ROWS;

/** The cause of a generation as a sentence. */
function causeOf(generation) {
  return sentence(generation.cause, generation.story, generation.culprit);
}

function drawDetails() {
  const box = byId("details");
  if (state.selected === null) {
    box.replaceChildren(element("p", { class: "muted" }, "Select a rebalance for details."));
    return;
  }
  const { base_ms: base, generations } = state.timeline;
  const each = generations[state.selected];
  const incarnation = each.incarnation > 1 ? ` of incarnation ${each.incarnation}` : "";
  const facts = [
    ["from", clock(base + each.begin_ms, true)],
    ["outcome", OUTCOME_WORDS[each.outcome] || each.outcome],
    ...PHASE_HEADS[each.group_type].map((name, n) => [name, duration(n ? each.sync_ms : each.join_ms)]),
    ["not Stable", duration(each.total_ms)], ["members", each.member_count ?? "–"],
    ["joined, left, expired", counts(each)], ["partitions moved (forced)", movedText(each)],
    ["partition downtime", downtime(each.unowned_partition_ms) + downtimeRange(each.unowned_partition_ms_low, each.unowned_partition_ms_high)],
    [isOfNewType(each) ? "server assignor" : "assignor", each.protocol || "–"],
    ["evidence", each.evidence],
  ];
  if (hasNewTypes) facts.splice(1, 0, ["group type", each.group_type]);
  if (each.gap_before) facts.push(["missing generations before", each.gap_before]);
  if (each.round > 1) facts.push(["round of the rebalance", each.round]);
  box.replaceChildren(
    element("h3", {}, `${isOfNewType(each) ? "Target assignment" : "Generation"} ${each.generation}${incarnation}: ${each.cause ? causeOf(each) : "cause not logged"}`),
    element("dl", {}, ...facts.map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, `${value}`)))),
    causesList(each, base),
    membersTable(),
    ...handoversTable(each, base),
  );
}

function counts(each) {
  const removed = each.members_dropped ? `, ${counted(each.members_dropped)} removed` : "";
  return [each.members_joined, each.members_left, each.members_expired].map((n) => n ?? "–").join(", ") + removed;
}

function causesList(each, base) {
  return element("ul", {}, ...each.causes.map((cause) => {
    const [first, when, ...more] = causeLines(cause, base);
    const item = element("li", {}, `${first} (${when}). `);
    item.append(element("span", { class: "muted" }, more.join("; ")));
    return item;
  }));
}

function membersTable() {
  const { lanes, assigned, generations } = state.timeline;
  const generation = generations[state.selected];
  const isNew = isOfNewType(generation) && generation.group_type !== "share"; // no member had to give up partitions
  const rows = [];
  for (const lane of lanes) {
    const spell = lane.spells.findLast((s) => s.at === state.selected);
    if (!spell) continue;
    const unit = unitOf(generation.group_type);
    const text = spell.assigned >= 0 ? assigned[spell.assigned][0] : `no ${unit}s`;
    const left = spell.left ? LEFT_WORDS[spell.left] || spell.left : "";
    const isChosen = state.lane !== null && state.lanes[state.lane] === lane;
    rows.push(element("tr", { class: isChosen ? "selected" : null },
      element("th", { scope: "row" }, lane.process), element("td", {}, lane.client_host || "–"),
      element("td", { class: "wide" }, text),
      ...(isNew ? [element("td", { class: "wide" }, askedToGiveUp(lane, generation))] : []),
      element("td", {}, left)));
  }
  if (!rows.length) return element("p", { class: "muted" }, "No group record of this generation.");
  const unit = unitOf(generation.group_type);
  const heads = ["process", "host", isOfNewType(generation) ? `${unit}s at the end` : "partitions", ...(isNew ? ["asked to give up"] : []), "end"];
  return element("div", { class: "scroll", tabindex: 0 }, fillTable(element("table"), heads.map(columnHead), rows));
}

/** "orders 3, 8: 221 ms": what a process was asked to give up in a generation, and how long it took. */
function askedToGiveUp(lane, generation) {
  const { assigned } = state.timeline;
  const told = lane.epochs
    .filter((each) => each.phase === "revoke" && each.from < generation.stop_ms && each.to > generation.begin_ms)
    .map((each) => [each.pending, each.to - each.from]);
  // A member of the classic protocol, or a member that confirms at once, is never in this state.
  const gaveUp = generation.handovers
    .filter((each) => each.from === lane.place && each.asked_ms !== null && each.released_ms >= each.asked_ms)
    .map((each) => [each.moved, each.released_ms - each.asked_ms]);
  return (told.length ? told : gaveUp)
    .map(([at, ms]) => `${at >= 0 ? assigned[at][0] : "partitions"}: ${duration(ms)}`).join("; ") || "–";
}

/** The time at which each partition changed its process, and what the next owner waited for. */
function handoversTable(generation, base) {
  const { lanes, assigned } = state.timeline;
  if (!generation.handovers.length) return [];
  const name = (place) => (place === null ? "–" : lanes[place].process);
  const rows = generation.handovers.map((each) => element("tr", {},
    element("td", { class: "wide" }, assigned[each.moved][0]),
    element("td", {}, name(each.from)), element("td", {}, name(each.to)),
    element("td", {}, each.asked_ms === null ? "–" : clock(base + each.asked_ms)),
    element("td", {}, clock(base + each.released_ms)), element("td", {}, clock(base + each.assigned_ms)),
    element("td", { class: "number" }, duration(each.assigned_ms - each.released_ms)),
    element("td", { class: "wrap" }, WAITED_WORDS[each.waited_for] || each.waited_for)));
  const heads = [`${unitOf(generation.group_type)}s`, "from", "to", "asked", "given up", "taken", "without owner", "waited for"];
  return [element("h4", {}, "Handovers"),
    element("div", { class: "scroll", tabindex: 0 }, fillTable(element("table"), heads.map(columnHead), rows))];
}

const REBALANCE_COLUMNS = () => [
  ["at", (g) => clock(state.timeline.base_ms + g.begin_ms, hasDays)],
  ["cause", (g) => (g.cause ? causeOf(g) : "–"), "wide"],
  [phaseHeads(typesShown())[0], (g) => duration(g.join_ms), "number"],
  [phaseHeads(typesShown())[1], (g) => duration(g.sync_ms), "number"],
  ["not Stable", (g) => duration(g.total_ms), "number"],
  ["outcome", (g) => OUTCOME_WORDS[g.outcome] || g.outcome],
  ["members", (g) => `${g.member_count ?? "–"}`, "number"],
  ["joined, left, expired", counts, "number"],
  ["moved (forced)", (g) => (g.partitions_moved === null ? "–" : `${g.partitions_moved} (${g.moves_forced})`), "number"],
  ["partition downtime", (g) => downtime(g.unowned_partition_ms), "number"],
];

/** A table of the generations in view that match the filter; only the first rows are drawn at once. */
function drawRebalances() {
  const { generations } = state.timeline;
  const matching = [];
  const [first, stop] = seen(generations, (g) => g.begin_ms, (g) => g.stop_ms);
  for (let at = first; at < stop; at += 1) if (passes(generations[at])) matching.push(at);
  const heads = ["gen.", ...REBALANCE_COLUMNS().map(([name]) => name)].map(columnHead);
  fillTable(byId("rebalances"), heads, matching.slice(0, rowsShown).flatMap(rebalanceRows));
  byId("rebalances-title").textContent = `Rebalances in view: ${counted(matching.length)}`;
  const more = byId("more");
  more.hidden = matching.length <= rowsShown;
  more.textContent = `Show ${counted(Math.min(matching.length - rowsShown, 500))} more`;
}

/** The row of a generation, after a row for the conversion that began it, if any. */
function rebalanceRows(at) {
  const conversion = state.timeline.conversions.find((each) => each.at === at);
  if (!conversion) return [rebalanceRow(at)];
  const when = clock(state.timeline.base_ms + conversion.at_ms, hasDays);
  const cell = element("td", { colspan: REBALANCE_COLUMNS().length + 1 }, `${when} ${conversionText(conversion)}`);
  return [element("tr", { class: "conversion" }, cell), rebalanceRow(at)];
}

function rebalanceRow(at) {
  const each = state.timeline.generations[at];
  const show = () => {
    select(at, true);
    byId("details").scrollIntoView({ block: "nearest" });
  };
  const name = `${each.incarnation > 1 ? `${each.incarnation}.` : ""}${each.generation}`;
  const open = element("button", { type: "button", class: "name", onclick: show,
    "aria-label": `generation ${name}` }, name);
  return element("tr", { class: at === state.selected ? "selected" : null },
    element("th", { scope: "row" }, open),
    ...REBALANCE_COLUMNS().map(([, text, kind]) => element("td", { class: kind || null }, text(each))));
}
