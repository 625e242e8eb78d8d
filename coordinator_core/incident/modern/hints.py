"""Likely reasons of a divergence in a group of a new type, by what differs."""

from __future__ import annotations

from coordinator_core.incident.modern.replay import ModernGeneration

_BY_PART = {
    "log line": "the log lacks lines for this time, or has lines of a request that left no record",
    "TargetAssignmentMember": "another assignor or another version of it computed the target, "
    "the members' racks differ, or partition counts changed without a "
    "record",
    "metadata_hash": "topics changed, but the group has no record of the change",
    "assignment_timestamp": "the group has another assignment interval, or the broker's clock"
    " changed",
    "CurrentMemberAssignment": "the member's heartbeat reported other owned partitions, or "
    "records are missing",
    "GroupMetadata": "records are missing, or the broker is of another era",
}


def likely_reason(generation: ModernGeneration) -> str | None:
    """Returns None for a reproduced generation."""
    divergence = generation.divergence
    if divergence is None:
        return None
    for part, reason in _BY_PART.items():
        if part in divergence.what:
            return reason
    return "records are missing, or the broker is of another era"
