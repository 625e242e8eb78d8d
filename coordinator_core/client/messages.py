"""The consumer's requests outside the group protocol, its effects and its states: plain values.

Perform effects in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    BareError,
    CommitResponse,
    ConsumerGroupHeartbeat,
    FetchResponse,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    LeaveResponse,
    MemberHeartbeatResponse,
    OffsetCommit,
    OffsetFetch,
    ShareGroupHeartbeat,
    StreamsGroupHeartbeat,
    StreamsHeartbeatResponse,
    SyncGroup,
    SyncResponse,
    TopicPartition,
)

NO_GENERATION = -1


class FindCoordinator(NamedTuple):
    """Requests the address of the group's coordinator from any broker."""

    request_id: str
    group_id: str


class Metadata(NamedTuple):
    """Requests the partition counts of these topics, by name or by id, from any broker."""

    request_id: str
    topics: tuple[str, ...]
    topic_ids: tuple[str, ...] = ()


class FindCoordinatorResponse(NamedTuple):
    error: Errors
    node: int = -1


class MetadataResponse(NamedTuple):
    """Partition counts by topic; missing topics are omitted.

    ``partitions``: counts; ``topic_ids``: ids.
    """

    partitions: Mapping[str, int]
    topic_ids: Mapping[str, str] = {}


ClientRequest = (
    FindCoordinator
    | Metadata
    | JoinGroup
    | SyncGroup
    | Heartbeat
    | LeaveGroup
    | OffsetCommit
    | OffsetFetch
    | ConsumerGroupHeartbeat
    | ShareGroupHeartbeat
    | StreamsGroupHeartbeat
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
    | MemberHeartbeatResponse
    | StreamsHeartbeatResponse
)


class MemberState(Enum):
    """The state of a member in its own process (not the group's state at the coordinator)."""

    UNJOINED = "not part of a group"
    PREPARING_REBALANCE = "waits for the JoinGroup response"
    COMPLETING_REBALANCE = "joined, waits for the SyncGroup response"
    STABLE = "joined and assigned"

    __hash__ = object.__hash__


class Send(NamedTuple):
    """``node`` is None for any broker."""

    request: ClientRequest
    node: int | None


class Disconnect(NamedTuple):
    """The consumer closes the connection to the node, which loses everything in flight on it."""

    node: int


class ListenerCall(NamedTuple):
    """The application's rebalance listener is called; report its return with ``listened``.

    ``kind`` is revoked, assigned or lost.  ``partitions`` are sorted.
    """

    kind: str
    partitions: tuple[TopicPartition, ...]


class MemberStateChanged(NamedTuple):
    state: MemberState
    generation: int
    member_id: str
    reason: str | None


class Measured(NamedTuple):
    """A finished step with its times in ms; ``generation`` is at the end of the step."""

    step: str
    start_ms: int
    end_ms: int
    generation: int
    detail: str = ""

    @property
    def duration_ms(self) -> int:
        return self.end_ms - self.start_ms


class Raised(NamedTuple):
    """An error that the library raises to the application.

    ``error`` is None for an error of the library itself, which ``text`` describes.  ``is_fatal``
    means that the consumer cannot be used any more.
    """

    error: Errors | None
    text: str
    is_fatal: bool


class Closed(NamedTuple):
    """The consumer is closed; this is its last effect."""


ClientEffect = Send | Disconnect | ListenerCall | MemberStateChanged | Measured | Raised | Closed
