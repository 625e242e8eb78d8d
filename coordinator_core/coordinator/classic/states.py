"""The vocabulary of the automaton: states, inputs, and the legal moves between states."""

from __future__ import annotations

from enum import Enum


class GroupState(Enum):
    """States of a classic group; CompletingRebalance was called AwaitingSync before 0.11."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"

    __hash__ = object.__hash__  # members are singletons; Enum's own hash is a Python call


class Input(Enum):
    """A request or an expiry, told apart as far as the automaton reacts differently."""

    NEW_MEMBER_NEEDS_ID = "join without a member id, from a client that must first be given one"
    NEW_MEMBER = "join of a member that the group does not know yet, or knows as pending"
    STATIC_MEMBER_BACK = "join without a member id, of an instance id that the group knows"
    REJOIN_UNCHANGED_LEADER = "join of the leader with the protocols it had"
    REJOIN_UNCHANGED_FOLLOWER = "join of a follower with the protocols it had"
    REJOIN_CHANGED_LEADER = "join of the leader with other protocols"
    REJOIN_CHANGED_FOLLOWER = "join of a follower with other protocols"
    SYNC_LEADER = "sync from the leader"
    SYNC_FOLLOWER = "sync from a follower"
    HEARTBEAT = "heartbeat"
    COMMIT = "offset commit"
    DESCRIBE = "describe"
    DELETE = "delete"
    MEMBER_LEFT = "a member left"
    MEMBER_FAILED = "a member's session ended"
    PENDING_MEMBER_LEFT = "a pending member left"
    PENDING_MEMBER_FAILED = "a pending member did not come back"
    ASSIGNMENT_STORED = "the record with the leader's assignment was appended"
    ASSIGNMENT_LOST = "the record with the leader's assignment could not be appended"
    SYNC_EXPIRED = "members did not sync within the rebalance timeout"

    __hash__ = object.__hash__


_EMPTY, _PREPARING, _COMPLETING, _STABLE, _DEAD = GroupState

# state -> states it may move to.  Kafka keeps the mirror image (valid previous states).
MOVES: dict[GroupState, frozenset[GroupState]] = {
    _EMPTY: frozenset({_PREPARING, _DEAD}),
    _PREPARING: frozenset({_COMPLETING, _EMPTY, _DEAD}),
    _COMPLETING: frozenset({_STABLE, _PREPARING, _DEAD}),
    _STABLE: frozenset({_PREPARING, _DEAD}),
    _DEAD: frozenset({_DEAD}),
}
