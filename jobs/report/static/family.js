// Families of causes, and texts for causes and stories.

const FAMILY_WORDS = page.families;
const FAMILIES = Object.keys(FAMILY_WORDS);
const FAMILY_OF = {
  MEMBER_NEW: "joining", STATIC_REPLACED: "joining", JOINING_IN_PREPARE: "joining",
  LEAVE: "leaving", LEAVE_POLL_TIMEOUT: "failing", HEARTBEAT_EXPIRY: "failing",
  SYNC_TIMEOUT: "failing", REBALANCE_TIMEOUT: "failing", STORE_ERROR: "failing",
  METADATA_CHANGE: "changing", LEADER_REJOIN: "changing", STATIC_UPDATE: "changing",
  CONVERT: "changing",
};
const STORY_WORDS = {
  start: "started", return: "rejoined", restart: "restarted", stop: "stopped",
  crash: "was removed (session expired)", stop_or_crash: "was removed (session expired)",
  slow_poll: "polled too slowly", slow_rejoin: "did not rejoin in time",
  no_sync: "sent no SyncGroup in time",
  takeover: "was replaced by a second process with the same instance id",
  follow_up: "rejoined for the second round of a cooperative rebalance",
  topic_change: "rejoined because topics changed", rejoin: "rejoined",
};
const CAUSE_WORDS = {
  MEMBER_NEW: "joined", LEAVE: "left", LEAVE_POLL_TIMEOUT: "polled too slowly and left",
  HEARTBEAT_EXPIRY: "was removed (session expired)", LEADER_REJOIN: "rejoined as leader",
  METADATA_CHANGE: "rejoined with changed metadata", STATIC_UPDATE: "rejoined with a changed subscription",
  STATIC_REPLACED: "rejoined with its instance id", SYNC_TIMEOUT: "did not sync in time",
  STORE_ERROR: "sent an assignment that could not be stored",
};
// A slow poll is a failure, although the client sends a LeaveGroup.
const FAILING_STORIES = new Set(["slow_poll", "crash", "stop_or_crash", "slow_rejoin", "no_sync"]);

function familyOf(cause, story) {
  return FAILING_STORIES.has(story) ? "failing" : FAMILY_OF[cause] || "other";
}

/** "billing-3 restarted"; the name of the cause if there is no text for it. */
function sentence(cause, story, who) {
  const text = STORY_WORDS[story] || CAUSE_WORDS[cause];
  const name = who || "a member";
  return text ? `${name} ${text}` : `${name}: ${cause || "cause not logged"}`;
}
