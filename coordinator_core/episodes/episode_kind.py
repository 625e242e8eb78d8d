"""The kinds of episodes."""

from enum import StrEnum


class EpisodeKind(StrEnum):
    GROUP_START = "group_start"
    ROLLING_DEPLOYMENT = "rolling_deployment"
    RESTART = "restart"
    WHOLE_GROUP_RESTART = "whole_group_restart"
    SHUTDOWN = "shutdown"
    SCALE_OUT = "scale_out"
    SCALE_IN = "scale_in"
    PROCESS_LOST = "process_lost"
    HOST_LOST = "host_lost"
    PROCESS_FROZEN = "process_frozen"
    PROCESS_LOST_OR_FROZEN = "process_lost_or_frozen"
    SLOW_POLL = "slow_poll"
    FLAPPING_MEMBER = "flapping_member"
    INSTANCE_ID_CONFLICT = "instance_id_conflict"
    GROUP_FULL = "group_full"
    ASSIGNMENT_FAILED = "assignment_failed"
    TOPIC_CHANGE = "topic_change"
    CONFIGURATION_CHANGE = "configuration_change"
    COORDINATOR_FAILOVER = "coordinator_failover"
    GROUP_DELETED = "group_deleted"
    UNKNOWN = "unknown"


# Kinds that begin or end a group intentionally.
NOT_INCIDENTS = tuple(
    kind.value
    for kind in (EpisodeKind.GROUP_START, EpisodeKind.SHUTDOWN, EpisodeKind.GROUP_DELETED)
)
