"""What a consumer asks beside the group's own requests, and what goes out of it: plain values.

Effects are to be performed in the order they stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    BareError,
    CommitResponse,
    FetchResponse,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    LeaveResponse,
    OffsetCommit,
    OffsetFetch,
    SyncGroup,
    SyncResponse,
    TopicPartition,
)

NO_GENERATION = -1


class FindCoordinator(NamedTuple):
    """Which broker leads the group's partition of `__consumer_offsets`; any broker knows."""

    request_id: str
    group_id: str


class Metadata(NamedTuple):
    """How many partitions have these topics; any broker knows."""

    request_id: str
    topics: tuple[str, ...]


class FindCoordinatorResponse(NamedTuple):
    error: Errors
    node: int = -1


class MetadataResponse(NamedTuple):
    """``partitions``: counts by topic; topics that do not exist are left out."""

    partitions: Mapping[str, int]


ClientRequest = (
    FindCoordinator
    | Metadata
    | JoinGroup
    | SyncGroup
    | Heartbeat
    | LeaveGroup
    | OffsetCommit
    | OffsetFetch
)
ClientResponse = (
    BareError
    | FindCoordinatorResponse
    | MetadataResponse
    | JoinResponse
    | SyncResponse
    | HeartbeatResponse
    | LeaveResponse
    | CommitResponse
    | FetchResponse
)


class MemberState(Enum):
    """What a member believes of itself; the group's state is the coordinator's."""

    UNJOINED = "not part of a group"
    PREPARING_REBALANCE = "waits for the answer to its JoinGroup"
    COMPLETING_REBALANCE = "joined, waits for its assignment"
    STABLE = "joined and assigned"

    __hash__ = object.__hash__


class Send(NamedTuple):
    """``node`` None: any broker, the least loaded one."""

    request: ClientRequest
    node: int | None


class Disconnect(NamedTuple):
    """The connection to the node is closed; what is in flight on it is dead on both sides."""

    node: int


class ListenerCall(NamedTuple):
    """The application's rebalance listener runs, until ``Consumer.listened``.

    ``kind``: revoked, assigned or lost.  ``partitions`` are sorted.
    """

    kind: str
    partitions: tuple[TopicPartition, ...]


class MemberStateChanged(NamedTuple):
    state: MemberState
    generation: int
    member_id: str
    reason: str | None


class Measured(NamedTuple):
    """A step that ended, with its times in ms; ``generation`` as it is then."""

    step: str
    start_ms: int
    end_ms: int
    generation: int
    detail: str = ""

    @property
    def duration_ms(self) -> int:
        return self.end_ms - self.start_ms


class Raised(NamedTuple):
    """What the library tells the application instead of records.

    ``error`` None: the library's own, in ``text``.  ``is_fatal``: polling again is of no use.
    """

    error: Errors | None
    text: str
    is_fatal: bool


class Closed(NamedTuple):
    """The consumer has ended; nothing comes after it."""


ClientEffect = Send | Disconnect | ListenerCall | MemberStateChanged | Measured | Raised | Closed
