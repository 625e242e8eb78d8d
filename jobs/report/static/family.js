// Families of causes, and texts for causes and stories.

const FAMILY_WORDS = page.families;
const FAMILIES = Object.keys(FAMILY_WORDS);
const FAMILY_OF = {
  MEMBER_NEW: "joining", STATIC_REPLACED: "joining", STATIC_RETURN: "joining",
  LEAVE: "leaving", STATIC_LEAVE: "leaving", MEMBER_GONE: "leaving", UNSUBSCRIBED: "leaving",
  CLOSING: "leaving", LEAVING: "leaving",
  LEAVE_POLL_TIMEOUT: "failing", SESSION_EXPIRY: "failing",
  SYNC_TIMEOUT: "failing", NOT_REJOINED: "failing", REBALANCE_TIMEOUT: "failing",
  STORE_ERROR: "failing", STATIC_REFUSED: "failing", STATIC_FENCED: "failing",
  ASSIGNMENT_FAILED: "failing", GROUP_FULL: "failing", COORDINATOR_MOVED: "changing", GROUP_DELETED: "changing", OVER_CAPACITY: "failing",
  METADATA_CHANGE: "changing", LEADER_REJOIN: "changing", STATIC_UPDATE: "changing",
  JOINING_IN_PREPARE: "changing", SUBSCRIPTION_CHANGE: "changing", ASSIGNOR_CHANGE: "changing",
  REGEX: "changing", TOPIC_CHANGE: "changing", CONVERSION: "changing", CONVERT: "changing",
  GROUP_CONFIG: "changing", ADMIN_REMOVED: "changing", CONFIG_CHANGE: "changing", SCHEDULED_REBALANCE: "changing",
  PROBING_REBALANCE: "changing", UNKNOWN: "other",
};
const STORY_WORDS = {
  start: "started", return: "rejoined", restart: "restarted", stop: "stopped",
  session_expired: "was removed (session expired)", stop_or_session_expired: "was removed (session expired)",
  client_fenced: "was removed (session expired after its client was fenced)",
  slow_poll: "polled too slowly", slow_rejoin: "did not rejoin in time",
  no_sync: "sent no SyncGroup in time", slow_revoke: "did not give up its partitions in time",
  takeover: "was replaced by a second process with the same instance id",
  follow_up: "rejoined for the second round of a cooperative rebalance",
  topic_change: "rejoined because topics changed", rejoin: "rejoined",
  refused: "was refused: its instance id is in use", deleted: "was deleted",
  group_config: "got another configuration", frozen: "was frozen or cut off",
  crash_restart: "was started again while its previous member was in the group",
  fenced: "was fenced: another process has its instance id", group_full: "was refused: the group is full",
  scheduled: "rejoined after the scheduled delay",
  session_lost: "rejoined: its session ended while the group had no coordinator",
};
const CAUSE_WORDS = {
  MEMBER_NEW: "joined", LEAVE: "left", LEAVE_POLL_TIMEOUT: "polled too slowly and left",
  SESSION_EXPIRY: "was removed (session expired)",
  REBALANCE_TIMEOUT: "was removed: did not give up its partitions in time",
  NOT_REJOINED: "was removed: did not rejoin in time", MEMBER_GONE: "ended its membership (the log does not show how)",
  LEADER_REJOIN: "rejoined as leader", JOINING_IN_PREPARE: "rejoined during the join phase",
  METADATA_CHANGE: "rejoined with changed metadata", STATIC_UPDATE: "rejoined with a changed subscription",
  STATIC_REPLACED: "rejoined with its instance id", SYNC_TIMEOUT: "did not sync in time",
  STATIC_LEAVE: "closed and keeps its place (static member)", STATIC_RETURN: "returned (static member)",
  SUBSCRIPTION_CHANGE: "changed its subscription", ASSIGNOR_CHANGE: "prefers another server assignor",
  STORE_ERROR: "sent an assignment that could not be stored",
  ASSIGNMENT_FAILED: "could not compute an assignment", COORDINATOR_MOVED: "rejoined: the coordinator moved",
  GROUP_FULL: "was refused: the group is full", STATIC_FENCED: "was fenced: another process has its instance id",
  STATIC_REFUSED: "was refused: its instance id is in use",
  OVER_CAPACITY: "was removed: the group exceeds its maximum size",
  ADMIN_REMOVED: "was removed by an administrator",
  CONFIG_CHANGE: "rejoined: connectors or tasks changed",
  SCHEDULED_REBALANCE: "rejoined after the scheduled delay", PROBING_REBALANCE: "rejoined to probe warm-up tasks",
};
// Causes that are changes of the group or of topics. The texts are whole sentences for causes without a known member.
const GROUP_CAUSE_WORDS = {
  TOPIC_CHANGE: "topics or partitions changed",
  REGEX: "the subscribed regular expression matches other topics",
  CONVERSION: "the group changed its protocol", CONVERT: "the group was converted to the classic protocol",
  GROUP_DELETED: "the group was deleted", GROUP_CONFIG: "the group's configuration changed",
  STORE_ERROR: "the assignment could not be stored", UNKNOWN: "cause not in the evidence",
};
// A slow poll is a failure, although the client sends a LeaveGroup.
const FAILING_STORIES = new Set(["slow_poll", "session_expired", "stop_or_session_expired", "client_fenced", "slow_rejoin", "no_sync", "slow_revoke"]);

function familyOf(cause, story) {
  return FAILING_STORIES.has(story) ? "failing" : FAMILY_OF[cause] || "other";
}

/** "billing-3 restarted"; the name of the cause if the cause has no text. */
function sentence(cause, story, who) {
  const ofGroup = GROUP_CAUSE_WORDS[cause];
  if (ofGroup && !CAUSE_WORDS[cause]) return who ? `${who}: ${ofGroup}` : ofGroup;
  const text = STORY_WORDS[story] || CAUSE_WORDS[cause];
  if (text) return `${who || "a member"} ${text}`;
  return `${who || "a member"}: ${cause || "cause not logged"}`;
}
