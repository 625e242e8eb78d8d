"""The ground truth about a group's generations: times, members, assignments, causes, outcomes.

The truth is taken from the coordinator's groups and events, not from records or log lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.protocol.messages import Event, TopicPartition
from coordinator_core.records import BadRecord, decode_assignment
from coordinator_core.simulation.outputs import TruthLine

_POLL_TIMEOUT = "consumer poll timeout has expired."


@dataclass(kw_only=True)
class GenerationTruth:
    """``members`` has all members in records by id. ``stored`` means that a record exists."""

    number: int
    preparing_ms: int | None = None
    joined_ms: int | None = None
    assigned_ms: int | None = None
    stable_ms: int | None = None
    member_count: int | None = None
    protocol: str | None = None
    leader: str | None = None
    cause: str | None = None
    culprit: str | None = None
    empty: bool = False
    stored: bool = False
    failed: bool = False
    members: dict[str, dict[str, Any]] = field(default_factory=dict)
    assignment: dict[str, bytes] = field(default_factory=dict)

    def outcome(self, *, is_over: bool) -> str:
        if self.empty:
            return "empty"
        if self.stored:
            return "stable"
        if self.failed:
            return "failed"
        return "superseded" if is_over and self.joined_ms is not None else "unknown"


class GroupTruth:
    """A group's generations.  Each rebalance is emitted when it ends.

    ``sync_assignments`` are the assignments of the leader's last SyncGroup, by member id.
    ``last_ended`` is the number of the last generation that ended.  ``continues`` have the last
    target assignment of the consumer group that became this classic group.
    """

    def __init__(self, group_id: str, emit: Callable[[TruthLine], None]) -> None:
        self.group_id = group_id
        self.incarnation = 1
        self.generations = 0
        self.last_ended = 0
        self.continues = 0
        self.rebalance_ms = 0
        self.expired = 0
        self.sync_assignments: Mapping[str, bytes] = {}
        self.owners: dict[TopicPartition, str] = {}
        self._emit = emit
        self._current: GenerationTruth | None = None
        self._next: GenerationTruth | None = None
        self._is_unloading = False
        self._died = False
        self._left_by_poll_timeout: set[str] = set()

    # -- events of the coordinator -------------------------------------------------------------

    def happened(self, event: Event, group: ClassicGroup | None, now_ms: int) -> None:
        handler = _HANDLERS.get(event.kind)
        if handler is not None:
            handler(self, event, group, now_ms)

    def _prepares(self, event: Event, group: ClassicGroup | None, now_ms: int) -> None:
        self._begin_incarnation_if_recreated()
        number = event.generation + 1
        if self._current is not None and self._current.number == number:
            # The previous coordinator completed the join and failed before it stored the
            # generation: the new coordinator prepares the same generation again.
            lost, self._current = self._current, None
            self._next = replace(lost, joined_ms=None, assigned_ms=None, member_count=None)
        if self._next is None or self._next.number != number:
            self._next = GenerationTruth(number=number, preparing_ms=now_ms)
            listed = event.fields.get("members") or (None,)
            self._next.culprit = event.fields.get("member_id", listed[0])
            self._next.cause = self._cause(event, self._next.culprit)
        if self._current is not None and event.fields.get("cause") == "STORE_ERROR":
            self._current.failed = True
        self._end_current(now_ms)

    def _cause(self, event: Event, culprit: str | None) -> str:
        cause = str(event.fields["cause"])
        by_poll_timeout = cause == "LEAVE" and culprit in self._left_by_poll_timeout
        return "LEAVE_POLL_TIMEOUT" if by_poll_timeout else cause

    def _joined(self, event: Event, group: ClassicGroup | None, now_ms: int) -> None:
        self._begin(event.generation)
        assert self._current is not None
        self._current.joined_ms = now_ms
        self._current.member_count = event.fields.get("member_count", 0)
        self._current.empty = event.kind == "GROUP_EMPTY"

    def _begin(self, number: int) -> None:
        self._begin_incarnation_if_recreated()
        current = (
            self._next
            if self._next and self._next.number == number
            else GenerationTruth(number=number)
        )
        self._current, self._next = current, None

    def _assigned(self, event: Event, group: ClassicGroup | None, now_ms: int) -> None:
        if self._current is not None:
            self._current.assigned_ms = now_ms
            self._current.leader = event.fields["member_id"]
            self._current.assignment = dict(self.sync_assignments)

    def _moved(self, event: Event, group: ClassicGroup | None, now_ms: int) -> None:
        if event.state == "Stable" and self._current is not None and self._current.stored:
            self._current.stable_ms = now_ms
        elif event.state == "Dead" and not self._is_unloading:
            self._end_current(now_ms)
            self._abandon_next()
            self._died = True

    def _failed(self, event: Event, group: ClassicGroup | None, now_ms: int) -> None:
        if self._current is not None:
            self._current.failed = True

    def _member_departs(self, event: Event, group: ClassicGroup | None, now_ms: int) -> None:
        if event.kind == "HEARTBEAT_EXPIRED":
            self.expired += 1
        elif event.fields.get("client_reason") == _POLL_TIMEOUT:
            member_id = event.fields["member_id"]
            self._left_by_poll_timeout.add(member_id)
            # Some eras report a leave after the rebalance that it causes.
            started = self._next or self._current
            if started and (started.cause, started.culprit) == ("LEAVE", member_id):
                started.cause = "LEAVE_POLL_TIMEOUT"

    def _unloads(self, event: Event, group: ClassicGroup | None, now_ms: int) -> None:
        self._is_unloading = True

    def _loads(self, event: Event, group: ClassicGroup | None, now_ms: int) -> None:
        self._is_unloading = False

    def _begin_incarnation_if_recreated(self) -> None:
        if self._died:
            self.incarnation += 1
            self._died = False

    # -- records -------------------------------------------------------------------------------

    def stored(self, group: ClassicGroup, now_ms: int) -> None:
        """A record with the group's current state was appended."""
        if group.generation in (0, self.continues):
            return
        if self._current is None or self._current.number != group.generation:
            self._begin(group.generation)
        current = self._current
        assert current is not None
        if not group.members:
            return
        first = not current.stored
        current.stored = True
        if first:
            current.protocol, current.leader = group.protocol, group.leader
        for member in group.in_order():
            if not first:  # A static member was replaced.
                current.assignment[member.member_id] = member.assignment
            current.members[member.member_id] = {
                "member_id": member.member_id,
                "instance_id": member.instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
            }
        current.assignment = {
            member_id: data
            for member_id, data in current.assignment.items()
            if member_id in group.members
        }

    # -- truth lines ---------------------------------------------------------------------------

    def _end_current(self, now_ms: int | None) -> None:
        if self._current is None:
            return
        ended, self._current = self._current, None
        self.last_ended = ended.number
        self._write(ended, now_ms)

    def _write(self, ended: GenerationTruth, ended_ms: int | None) -> None:
        self.generations += 1
        outcome = ended.outcome(is_over=ended_ms is not None)
        settled_ms = {"empty": ended.joined_ms, "stable": ended.assigned_ms}.get(outcome, ended_ms)
        self.rebalance_ms += _difference_ms(settled_ms, ended.preparing_ms) or 0
        self._note_owners(ended)
        self._emit(
            TruthLine(
                {
                    "truth": "generation",
                    "group": self.group_id,
                    "incarnation": self.incarnation,
                    "generation": ended.number,
                    "preparing_ms": ended.preparing_ms,
                    "joined_ms": ended.joined_ms,
                    "assigned_ms": ended.assigned_ms,
                    "stable_ms": ended.stable_ms,
                    "ended_ms": ended_ms,
                    "join_ms": _difference_ms(ended.joined_ms, ended.preparing_ms),
                    "sync_ms": _difference_ms(settled_ms, ended.joined_ms),
                    "protocol": ended.protocol,
                    "leader": ended.leader,
                    "member_count": ended.member_count,
                    "cause": ended.cause,
                    "culprit": ended.culprit,
                    "outcome": outcome,
                    "members": sorted(ended.members.values(), key=lambda m: str(m["member_id"])),
                    "assignment": {
                        member_id: _partitions(data)
                        for member_id, data in sorted(ended.assignment.items())
                        if ended.stored
                    },
                }
            )
        )

    def _note_owners(self, ended: GenerationTruth) -> None:
        for member_id, member in ended.members.items():
            owner = str(member["instance_id"] or member["client_id"])
            partitions = _partitions(ended.assignment.get(member_id, b""))
            self.owners.update({(topic, number): owner for topic, number in partitions})

    def close(self) -> None:
        """Emit the last generation, without an end."""
        self._end_current(None)
        self._abandon_next()

    def converted(self, now_ms: int) -> None:
        """The group becomes a group of another type."""
        self._end_current(now_ms)
        self._abandon_next()

    def _abandon_next(self) -> None:
        """Emit a generation that was prepared and never joined."""
        if self._next is not None:
            self._write(self._next, None)
            self._next = None


_HANDLERS: Mapping[str, Callable[[GroupTruth, Event, ClassicGroup | None, int], None]] = {
    "REBALANCE_START": GroupTruth._prepares,
    "JOIN_COMPLETE": GroupTruth._joined,
    "GROUP_EMPTY": GroupTruth._joined,
    "ASSIGNMENT_RECEIVED": GroupTruth._assigned,
    "STATE": GroupTruth._moved,
    "STORE_FAILED": GroupTruth._failed,
    "LEFT": GroupTruth._member_departs,
    "HEARTBEAT_EXPIRED": GroupTruth._member_departs,
    "UNLOADED": GroupTruth._unloads,
    "LOADED": GroupTruth._loads,
}


def _difference_ms(later_ms: int | None, earlier_ms: int | None) -> int | None:
    return None if later_ms is None or earlier_ms is None else later_ms - earlier_ms


def _partitions(assignment: bytes) -> list[list[Any]]:
    """Sorted [topic, partition] pairs; empty for an empty or unreadable assignment."""
    try:
        lists = decode_assignment(assignment).partitions if assignment else []
    except BadRecord:
        return []
    return sorted([topic, number] for topic, numbers in lists for number in numbers)
