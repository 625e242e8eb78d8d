"""librdkafka's join states, callbacks and errors for the application, and rate limits."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from coordinator_core.client.messages import MemberState
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import TopicPartition


class JoinState(Enum):
    """rd_kafka_cgrp_t's join states; ``MEMBER_STATES`` maps the join states to the common member
    states.
    """

    INIT = "joins next"
    WAIT_JOIN = "waits for the JoinGroup response"
    WAIT_METADATA = "waits for metadata, before a join or, as leader, before the assignment"
    WAIT_SYNC = "waits for the SyncGroup response"
    WAIT_ASSIGN_CALL = "waits for the application's assign callback"
    WAIT_UNASSIGN_CALL = "waits for the application's revoke callback"
    WAIT_UNASSIGN_TO_COMPLETE = "commits the offsets of all revoked partitions, then rejoins"
    WAIT_INCR_UNASSIGN_TO_COMPLETE = "commits the offsets of some revoked partitions"
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


class RebalanceCallback(NamedTuple):
    """A rebalance callback for the application, with its partitions."""

    is_assign: bool
    partitions: tuple[TopicPartition, ...]


class ConsumerError(NamedTuple):
    """An error for the application."""

    error: Errors | None
    text: str
    is_fatal: bool = False


class Interval:
    """Limits an action to once per ``interval_ms``; after ``reset`` it may run at once."""

    def __init__(self, interval_ms: int) -> None:
        self.interval_ms = interval_ms
        self.last_ms: int | None = None
        self.backoff_ms = 0

    def due_ms(self, now_ms: int) -> int:
        """When the action may run next, possibly in the past."""
        if self.last_ms is None:
            return now_ms
        return self.last_ms + self.interval_ms + self.backoff_ms

    def take(self, now_ms: int) -> bool:
        """Returns whether the action may run now; if so, the interval restarts."""
        if self.due_ms(now_ms) > now_ms:
            return False
        self.last_ms, self.backoff_ms = now_ms, 0
        return True

    def reset(self) -> None:
        self.last_ms, self.backoff_ms = None, 0
