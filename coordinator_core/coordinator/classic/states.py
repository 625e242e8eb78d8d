"""States of a classic group, inputs of the automaton, and the legal moves between states."""

from __future__ import annotations

from enum import Enum


class GroupState(Enum):
    """A group's state; CompletingRebalance was called AwaitingSync up to 1.0."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"

    __hash__ = object.__hash__  # members are singletons; Enum's own hash is a Python call


class Input(Enum):
    """A request, an expiry or an append's outcome, as far as the automaton distinguishes them."""

    __hash__ = object.__hash__  # as above

    NEW_MEMBER_NEEDS_ID = (
        "join without a member id, from a client that must join again with the id in the response"
    )
    NEW_MEMBER = "join of a member that is pending or not in the group yet"
    STATIC_MEMBER_RETURNS = "join without a member id, with the instance id of an existing member"
    REJOIN_UNCHANGED_LEADER = "join of the leader with unchanged protocols"
    REJOIN_UNCHANGED_FOLLOWER = "join of a follower with unchanged protocols"
    REJOIN_CHANGED_LEADER = "join of the leader with changed protocols"
    REJOIN_CHANGED_FOLLOWER = "join of a follower with changed protocols"
    SYNC_LEADER = "sync from the leader"
    SYNC_FOLLOWER = "sync from a follower"
    HEARTBEAT = "heartbeat"
    COMMIT = "offset commit"
    DESCRIBE = "describe"
    DELETE = "delete"
    MEMBER_LEFT = "a member left"
    MEMBER_FAILED = "a member's session expired"
    PENDING_MEMBER_LEFT = "a pending member left"
    PENDING_MEMBER_FAILED = "a pending member did not join in time"
    ASSIGNMENT_STORED = "the record with the leader's assignment was appended"
    ASSIGNMENT_NOT_STORED = "the record with the leader's assignment could not be appended"
    SYNC_EXPIRED = "members did not sync within the rebalance timeout"

    __hash__ = object.__hash__


_EMPTY, _PREPARING, _COMPLETING, _STABLE, _DEAD = GroupState

# state -> states to which the group may move from this state.  Kafka stores the reverse direction
# (valid previous states).
MOVES: dict[GroupState, frozenset[GroupState]] = {
    _EMPTY: frozenset({_PREPARING, _DEAD}),
    _PREPARING: frozenset({_COMPLETING, _EMPTY, _DEAD}),
    _COMPLETING: frozenset({_STABLE, _PREPARING, _DEAD}),
    _STABLE: frozenset({_PREPARING, _DEAD}),
    _DEAD: frozenset({_DEAD}),
}
