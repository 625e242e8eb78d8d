// Types of groups, and names of the phases of a rebalance in each type.

// The page names types where at least one of its groups is not classic.
const hasNewTypes = (page.types || groups.flatMap((group) => group.types || [])).some((type) => type !== "classic");
const PHASE_WORDS = {
  classic: {
    join: "waiting for members to join", sync: "waiting for the assignment", stable: "Stable",
    empty: "Empty",
  },
  consumer: {
    join: "Assigning: no target assignment yet", sync: "Reconciling: members take up the target assignment",
    stable: "Stable", empty: "Empty",
  },
  share: {
    join: "no target assignment yet", sync: "members take up the target assignment", stable: "Stable",
    empty: "Empty",
  },
};
PHASE_WORDS.streams = PHASE_WORDS.consumer;
// Column headings of join_ms and sync_ms, the durations of the two phases.
const PHASE_HEADS = {
  classic: ["join", "sync"], consumer: ["Assigning", "Reconciling"],
  streams: ["Assigning", "Reconciling"], share: ["to target", "to members"],
};
// Actions of a member in groups whose members take up a target one by one.
const MEMBER_WORDS = {
  stable: "at the target assignment", behind: "has not heard of the newer target assignment",
  revoke: "was asked to give up", wait: "waits for partitions of other members",
  away: "closed; the group keeps its partitions (static member)",
};
const WAITED_WORDS = {
  revocation: "the previous owner's revocation", session: "the previous owner's session to expire",
  heartbeat: "the next owner's heartbeat",
};

/** The types of the shown group, in the order of its conversions. */
function typesShown() {
  return state.timeline.types;
}

function isOfNewType(generation) {
  return generation.group_type !== "classic";
}

/** "consumer", or "classic → consumer" for a group that was converted. */
function typesText(types) {
  return (types || []).join(" → ");
}

/** The heads of the columns for both phases, of a group of one or several types. */
function phaseHeads(types) {
  const heads = [0, 1].map((n) => [...new Set(types.map((type) => PHASE_HEADS[type][n]))]);
  return heads.map((names) => names.join(" or "));
}

function phaseWords(generation, phase) {
  return PHASE_WORDS[generation.group_type][phase];
}

/** Tasks in a streams group, else partitions. */
function unitOf(groupType) {
  return groupType === "streams" ? "task" : "partition";
}

function conversionText({ before, after }) {
  return `converted: ${before} group → ${after} group`;
}
