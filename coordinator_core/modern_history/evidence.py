"""The evidence of a group: its records, and the log lines about departures and targets."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.group_types import GROUP_TYPES

# Largest difference between the times of a line and of the records of the same request: the batch
# may begin before or after the line.
SAME_REQUEST_MS = 1000


class RecordKind(StrEnum):
    """The object of a record; values are the ends of the record types' names."""

    GROUP = "GroupMetadata"
    MEMBER = "GroupMemberMetadata"
    TARGET = "GroupTargetAssignmentMetadata"
    TARGET_MEMBER = "GroupTargetAssignmentMember"
    CURRENT = "GroupCurrentMemberAssignment"
    REGEX = "GroupRegularExpression"
    TOPOLOGY = "GroupTopology"
    TOPICS = "GroupPartitionMetadata"  # until 4.0
    STATE_PARTITIONS = "GroupStatePartitionMetadata"
    CLASSIC = "ClassicGroup"
    OTHER = "Other"


Partition = tuple[str, str | None, str | None, int]
"""Role, subtopology, topic id and number of a partition: streams groups have a subtopology,
other groups a topic id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRecord:
    """A record, in the order of the log.

    ``epoch`` is the group epoch, assignment epoch, member epoch or, of a classic group, generation.
    ``topic_ids`` are the topic ids of ``assigned``, in the order of the record.  ``subtopologies``
    have the ids and the topics that they read.  ``members`` are the members of a classic group.
    """

    time_ms: int
    position: int
    kind: RecordKind
    group_type: str  # see ``type``
    is_tombstone: bool
    member_id: str | None = None
    epoch: int | None = None
    previous_epoch: int | None = None
    state: int | None = None
    metadata_hash: int | None = None
    topology_epoch: int | None = None
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    process_id: str | None = None
    rebalance_timeout_ms: int | None = None
    session_timeout_ms: int | None = None
    server_assignor: str | None = None
    is_classic: bool = False
    regex: str | None = None
    topics: tuple[str, ...] = ()
    assigned: frozenset[Partition] = frozenset()
    topic_ids: tuple[str, ...] = ()
    pending: frozenset[Partition] = frozenset()
    subtopologies: tuple[tuple[str, tuple[str, ...]], ...] = ()
    members: tuple[str, ...] = ()

    @property
    def type(self) -> GroupType:
        return GROUP_TYPES[self.group_type]


# How a membership ended, as in generation_members.
LEFT, SESSION_EXPIRED, DROPPED = "left", "session_expired", "dropped"


@dataclass(frozen=True, slots=True)
class LoggedDeparture:
    """A log line: the member left, or was removed.  ``how``: LEFT, SESSION_EXPIRED or DROPPED."""

    time_ms: int
    member_id: str
    how: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TargetLine:
    """A log line: a target was computed by this assignor."""

    time_ms: int
    assignor: str
