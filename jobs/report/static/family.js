// Causes by what they have in common, and the words for what processes did.

const FAMILY_WORDS = page.families;
const FAMILIES = Object.keys(FAMILY_WORDS);
const FAMILY_OF = {
  MEMBER_NEW: "coming", STATIC_REPLACED: "coming", JOINING_IN_PREPARE: "coming",
  LEAVE: "going", LEAVE_POLL_TIMEOUT: "failing", HEARTBEAT_EXPIRY: "failing",
  SYNC_TIMEOUT: "failing", REBALANCE_TIMEOUT: "failing", STORE_ERROR: "failing",
  METADATA_CHANGE: "changing", LEADER_REJOIN: "changing", STATIC_UPDATE: "changing",
  CONVERT: "changing",
};
const STORY_WORDS = {
  start: "started", return: "came back", restart: "restarted", stop: "stopped",
  crash: "crashed: its session expired", stop_or_crash: "stopped or crashed: its session expired",
  slow_poll: "polled too slowly", slow_rejoin: "did not rejoin in time",
  no_sync: "did not ask for its assignment",
  takeover: "was taken over by a second process of the same instance id",
  follow_up: "rejoined for the second round of a cooperative rebalance",
  topic_change: "rejoined because topics changed", rejoin: "rejoined", gone: "is gone",
};
const CAUSE_WORDS = {
  MEMBER_NEW: "joined", LEAVE: "left", LEAVE_POLL_TIMEOUT: "polled too slowly and left",
  HEARTBEAT_EXPIRY: "was not heard of in time", LEADER_REJOIN: "rejoined as the leader",
  METADATA_CHANGE: "rejoined with changed metadata", STATIC_UPDATE: "came back changed",
  STATIC_REPLACED: "came back under its instance id", SYNC_TIMEOUT: "did not sync in time",
  STORE_ERROR: "brought an assignment that could not be stored",
};
// A slow poll is a failing, however politely the client leaves.
const FAILING_STORIES = new Set(["slow_poll", "crash", "stop_or_crash", "slow_rejoin", "no_sync"]);

function familyOf(cause, story) {
  return FAILING_STORIES.has(story) ? "failing" : FAMILY_OF[cause] || "other";
}

/** "billing-3 restarted"; the cause's own name where there are no words for it. */
function sentence(cause, story, who) {
  const what = STORY_WORDS[story] || CAUSE_WORDS[cause];
  const name = who || "somebody";
  return what ? `${name} ${what}` : `${name}: ${cause || "no cause told"}`;
}
