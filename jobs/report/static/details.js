// The timeline as text: the selected generation, and a table of all generations in view.

const PHASE_WORDS = {
  join: "waiting for members to join", sync: "waiting for the assignment", stable: "Stable",
  empty: "Empty",
};
const LEFT_WORDS = {
  left: "left", expired: "session expired", dropped: "removed: did not rejoin",
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
    ["join", duration(each.join_ms)], ["sync", duration(each.sync_ms)],
    ["not Stable", duration(each.total_ms)], ["members", each.member_count ?? "–"],
    ["joined, left, expired", counts(each)], ["partitions moved (forced)", movedText(each)],
    ["partition downtime", downtime(each.unavailable_ms)], ["assignor", each.protocol || "–"],
    ["evidence", each.evidence],
  ];
  if (each.gap_before) facts.push(["missing generations before", each.gap_before]);
  if (each.round > 1) facts.push(["round of the rebalance", each.round]);
  box.replaceChildren(
    element("h3", {}, `Generation ${each.generation}${incarnation}: ${each.cause ? causeOf(each) : "cause not logged"}`),
    element("dl", {}, ...facts.map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, `${value}`)))),
    causesList(each, base),
    membersTable(),
  );
}

function counts(each) {
  return [each.members_joined, each.members_left, each.members_expired].map((n) => n ?? "–").join(", ");
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
  const { lanes, assigned } = state.timeline;
  const rows = [];
  for (const lane of lanes) {
    const spell = lane.spells.findLast((s) => s.at === state.selected);
    if (!spell) continue;
    const text = spell.assigned >= 0 ? assigned[spell.assigned][0] : "no partitions";
    const left = spell.left ? LEFT_WORDS[spell.left] || spell.left : "";
    const isChosen = state.lane !== null && state.lanes[state.lane] === lane;
    rows.push(element("tr", { class: isChosen ? "selected" : null },
      element("th", { scope: "row" }, lane.process), element("td", {}, lane.client_host || "–"),
      element("td", { class: "wide" }, text), element("td", {}, left)));
  }
  if (!rows.length) return element("p", { class: "muted" }, "No group record of this generation.");
  const heads = ["process", "host", "partitions", "end"].map(columnHead);
  return element("div", { class: "scroll", tabindex: 0 }, fillTable(element("table"), heads, rows));
}

const REBALANCE_COLUMNS = [
  ["at", (g) => clock(state.timeline.base_ms + g.begin_ms, hasDays)],
  ["cause", (g) => (g.cause ? causeOf(g) : "–"), "wide"],
  ["join", (g) => duration(g.join_ms), "number"],
  ["sync", (g) => duration(g.sync_ms), "number"],
  ["not Stable", (g) => duration(g.total_ms), "number"],
  ["outcome", (g) => OUTCOME_WORDS[g.outcome] || g.outcome],
  ["members", (g) => `${g.member_count ?? "–"}`, "number"],
  ["joined, left, expired", counts, "number"],
  ["moved (forced)", (g) => (g.partitions_moved === null ? "–" : `${g.partitions_moved} (${g.moves_forced})`), "number"],
  ["partition downtime", (g) => downtime(g.unavailable_ms), "number"],
];

/** A table of the generations in view that match the filter; the first rows at once. */
function drawRebalances() {
  const { generations } = state.timeline;
  const matching = [];
  const [first, stop] = seen(generations, (g) => g.begin_ms, (g) => g.stop_ms);
  for (let at = first; at < stop; at += 1) if (passes(generations[at])) matching.push(at);
  const heads = ["gen.", ...REBALANCE_COLUMNS.map(([name]) => name)].map(columnHead);
  fillTable(byId("rebalances"), heads, matching.slice(0, rowsShown).map(rebalanceRow));
  byId("rebalances-title").textContent = `Rebalances in view: ${counted(matching.length)}`;
  const more = byId("more");
  more.hidden = matching.length <= rowsShown;
  more.textContent = `Show ${counted(Math.min(matching.length - rowsShown, 500))} more`;
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
    ...REBALANCE_COLUMNS.map(([, text, kind]) => element("td", { class: kind || null }, text(each))));
}
