"""The reasons why the group epoch increased: the changes in the same batch of records.

A bump follows the records of what caused it (kafka's GroupMetadataManager writes them in one
batch): metadata of a new or changed member, or tombstones of one that left.  A member with a
regular expression waits for its first resolution, which is a later batch.  Without such changes,
topics changed: a regular expression was resolved again, or the hash of the topics' metadata
differs.
"""

from __future__ import annotations

from dataclasses import dataclass

from coordinator_core.modern_history.evidence import (
    DROPPED,
    LEFT,
    SESSION_EXPIRED,
    GroupRecord,
    LoggedDeparture,
)

# Causes by the logged departure. MEMBER_GONE stands for a departure without a line.
DEPARTURES = {
    LEFT: "LEAVE",
    SESSION_EXPIRED: "SESSION_EXPIRY",
    DROPPED: "REBALANCE_TIMEOUT",
}
MEMBER_NEW, MEMBER_GONE = "MEMBER_NEW", "MEMBER_GONE"
STATIC_LEAVE, STATIC_RETURN = "STATIC_LEAVE", "STATIC_RETURN"
SUBSCRIPTION_CHANGE, ASSIGNOR_CHANGE = "SUBSCRIPTION_CHANGE", "ASSIGNOR_CHANGE"
REGEX, TOPIC_CHANGE, CONVERSION, UNKNOWN = "REGEX", "TOPIC_CHANGE", "CONVERSION", "UNKNOWN"

# Changes that do not increase the group epoch.
WITHOUT_EPOCH = (STATIC_LEAVE, STATIC_RETURN)

# Reasons of epochs that complete the start of earlier members.
REGEX_RESOLVED = "regular expression of the member resolved"
STATE_INITIALIZED = "share state initialized"
TOPOLOGY_VALIDATED = "internal topics created, topology validated"
COMPLETIONS = (REGEX_RESOLVED, STATE_INITIALIZED, TOPOLOGY_VALIDATED)


@dataclass(frozen=True, slots=True)
class EpochChange:
    """``process`` is the process at the time of the change."""

    cause: str
    member_id: str | None
    process: str | None
    time_ms: int
    has_log: bool = False
    reason: str | None = None


def of_departure(departure: LoggedDeparture | None) -> str:
    return MEMBER_GONE if departure is None else DEPARTURES.get(departure.how, MEMBER_GONE)


def of_update(before: GroupRecord, after: GroupRecord) -> str | None:
    """The cause that new metadata of a member is, or None if it changes no target."""
    if (before.topics, before.regex) != (after.topics, after.regex):
        return SUBSCRIPTION_CHANGE
    if before.server_assignor != after.server_assignor:
        return ASSIGNOR_CHANGE
    return None
