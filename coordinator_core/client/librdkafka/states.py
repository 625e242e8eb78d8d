"""Where a join stands, and things that happen at most once in an interval."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from coordinator_core.client.messages import MemberState
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import TopicPartition


class JoinState(Enum):
    """librdkafka's own, which ``MEMBER_STATES`` maps to what the protocol calls them."""

    INIT = "to join, maybe again"
    WAIT_JOIN = "waits for the answer to JoinGroup"
    WAIT_METADATA = "waits for topics, to join or, as leader, to assign"
    WAIT_SYNC = "waits for the answer to SyncGroup"
    WAIT_ASSIGN_CALL = "waits for the application to take partitions"
    WAIT_UNASSIGN_CALL = "waits for the application to give partitions up"
    WAIT_UNASSIGN_TO_COMPLETE = "commits what it gave up, before it joins"
    WAIT_INCR_UNASSIGN_TO_COMPLETE = "the same of some partitions only"
    STEADY = "assigned"

    __hash__ = object.__hash__


MEMBER_STATES: Mapping[JoinState, MemberState] = {
    JoinState.INIT: MemberState.UNJOINED,
    JoinState.WAIT_JOIN: MemberState.PREPARING_REBALANCE,
    JoinState.WAIT_METADATA: MemberState.COMPLETING_REBALANCE,
    JoinState.WAIT_SYNC: MemberState.COMPLETING_REBALANCE,
    JoinState.WAIT_ASSIGN_CALL: MemberState.STABLE,
    JoinState.WAIT_UNASSIGN_CALL: MemberState.STABLE,
    JoinState.WAIT_UNASSIGN_TO_COMPLETE: MemberState.STABLE,
    JoinState.WAIT_INCR_UNASSIGN_TO_COMPLETE: MemberState.STABLE,
    JoinState.STEADY: MemberState.STABLE,
}
WAIT_CALL = frozenset({JoinState.WAIT_ASSIGN_CALL, JoinState.WAIT_UNASSIGN_CALL})
HEARTBEATING = WAIT_CALL | {JoinState.STEADY}
WAIT_UNASSIGN = frozenset(
    {JoinState.WAIT_UNASSIGN_TO_COMPLETE, JoinState.WAIT_INCR_UNASSIGN_TO_COMPLETE}
)
REBALANCING = WAIT_CALL | WAIT_UNASSIGN | {JoinState.WAIT_SYNC}
REBALANCING_IF_JOINED = frozenset({JoinState.WAIT_JOIN, JoinState.WAIT_METADATA})


class Call(NamedTuple):
    """Partitions on their way to the application's callback."""

    is_assign: bool
    partitions: tuple[TopicPartition, ...]


class Problem(NamedTuple):
    """An error on its way to the application."""

    error: Errors | None
    text: str
    is_fatal: bool = False


class Interval:
    """At most once in ``interval_ms``, and at once after ``reset``."""

    def __init__(self, interval_ms: int) -> None:
        self.interval_ms = interval_ms
        self.last_ms: int | None = None
        self.backoff_ms = 0

    def due_ms(self, now_ms: int) -> int:
        """The next moment, which may have passed."""
        if self.last_ms is None:
            return now_ms
        return self.last_ms + self.interval_ms + self.backoff_ms

    def take(self, now_ms: int) -> bool:
        """Whether it is time; if so, the interval begins anew."""
        if self.due_ms(now_ms) > now_ms:
            return False
        self.last_ms, self.backoff_ms = now_ms, 0
        return True

    def reset(self) -> None:
        self.last_ms, self.backoff_ms = None, 0
