"""The truth of a simulation: each generation as the coordinator lived it, each callback as the
application got it, and how long partitions had no owner, or two.

Taken from the coordinator's own groups and from the processes, not from what brokers wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from coordinator_core.coordinator.classic.group import Group
from coordinator_core.protocol.messages import Event, TopicPartition
from coordinator_core.records import BadRecord, decode_assignment
from coordinator_core.simulation.outputs import Told

_POLL_TIMEOUT = "consumer poll timeout has expired."


@dataclass
class Generation:
    """``members``: by id, whoever is in one of its records.  ``stored``: it has a record."""

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
    """One group's generations, as they come; each is told when the next has begun.

    ``given``: what the leader's sync gave whom, until it is stored.
    """

    def __init__(self, group_id: str, tell: Callable[[Told], None]) -> None:
        self.group_id = group_id
        self.incarnation = 1
        self.generations = 0
        self.rebalance_ms = 0
        self.expired = 0
        self.given: Mapping[str, bytes] = {}
        self._tell = tell
        self._now: Generation | None = None
        self._next: Generation | None = None
        self._is_unloading = False
        self._died = False
        self._left_slowly: set[str] = set()

    # -- what the coordinator says -------------------------------------------------------------

    def happened(self, event: Event, group: Group | None, now_ms: int) -> None:
        on = _ON.get(event.kind)
        if on is not None:
            on(self, event, group, now_ms)

    def _prepares(self, event: Event, group: Group | None, now_ms: int) -> None:
        self._live()
        number = event.generation + 1
        if self._now is not None and self._now.number == number:
            # Joined, never stored, and lost with its coordinator: the same generation once more.
            lost, self._now = self._now, None
            self._next = replace(lost, joined_ms=None, assigned_ms=None, member_count=None)
        if self._next is None or self._next.number != number:
            self._next = Generation(number, now_ms)
            listed = event.fields.get("members") or (None,)
            self._next.culprit = event.fields.get("member_id", listed[0])
            self._next.cause = self._cause(event, self._next.culprit)
        if self._now is not None and event.fields.get("cause") == "STORE_ERROR":
            self._now.failed = True
        self._over(now_ms)

    def _cause(self, event: Event, culprit: str | None) -> str:
        cause = str(event.fields["cause"])
        slowly = cause == "LEAVE" and culprit in self._left_slowly
        return "LEAVE_POLL_TIMEOUT" if slowly else cause

    def _joined(self, event: Event, group: Group | None, now_ms: int) -> None:
        self._begin(event.generation)
        assert self._now is not None
        self._now.joined_ms = now_ms
        self._now.member_count = event.fields.get("member_count", 0)
        self._now.empty = event.kind == "GROUP_EMPTY"

    def _begin(self, number: int) -> None:
        self._live()
        begun = self._next if self._next and self._next.number == number else Generation(number)
        self._now, self._next = begun, None

    def _assigned(self, event: Event, group: Group | None, now_ms: int) -> None:
        if self._now is not None:
            self._now.assigned_ms = now_ms
            self._now.leader = event.fields["member_id"]
            self._now.assignment = dict(self.given)

    def _moved(self, event: Event, group: Group | None, now_ms: int) -> None:
        if event.state == "Stable" and self._now is not None and self._now.stored:
            self._now.stable_ms = now_ms
        elif event.state == "Dead" and not self._is_unloading:
            self._over(now_ms)
            self._give_up()
            self._died = True

    def _failed(self, event: Event, group: Group | None, now_ms: int) -> None:
        if self._now is not None:
            self._now.failed = True

    def _departs(self, event: Event, group: Group | None, now_ms: int) -> None:
        if event.kind == "HEARTBEAT_EXPIRED":
            self.expired += 1
        elif event.fields.get("client_reason") == _POLL_TIMEOUT:
            member_id = event.fields["member_id"]
            self._left_slowly.add(member_id)
            started = self._next or self._now  # some coordinators tell of a leave after its effect
            if started and (started.cause, started.culprit) == ("LEAVE", member_id):
                started.cause = "LEAVE_POLL_TIMEOUT"

    def _unloads(self, event: Event, group: Group | None, now_ms: int) -> None:
        self._is_unloading = True

    def _loads(self, event: Event, group: Group | None, now_ms: int) -> None:
        self._is_unloading = False

    def _live(self) -> None:
        if self._died:
            self.incarnation += 1
            self._died = False

    # -- what it writes ------------------------------------------------------------------------

    def stored(self, group: Group, now_ms: int) -> None:
        """A record of the group as it is now is in the log."""
        if group.generation == 0:
            return
        if self._now is None or self._now.number != group.generation:
            self._begin(group.generation)
        now = self._now
        assert now is not None
        if not group.members:
            return
        first = not now.stored
        now.stored = True
        if first:
            now.protocol, now.leader = group.protocol, group.leader
        for member in group.in_order():
            if not first:  # a static member was replaced
                now.assignment[member.member_id] = member.assignment
            now.members[member.member_id] = {
                "member_id": member.member_id,
                "instance_id": member.instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
            }
        alive = group.members
        now.assignment = {m: given for m, given in now.assignment.items() if m in alive}

    # -- telling -------------------------------------------------------------------------------

    def _over(self, now_ms: int | None) -> None:
        if self._now is None:
            return
        now, self._now = self._now, None
        self._say(now, now_ms)

    def _say(self, now: Generation, ended_ms: int | None) -> None:
        self.generations += 1
        outcome = now.outcome(is_over=ended_ms is not None)
        settled_ms = {"empty": now.joined_ms, "stable": now.assigned_ms}.get(outcome, ended_ms)
        self.rebalance_ms += _less(settled_ms, now.preparing_ms) or 0
        self._tell(
            Told(
                {
                    "truth": "generation",
                    "group": self.group_id,
                    "incarnation": self.incarnation,
                    "generation": now.number,
                    "preparing_ms": now.preparing_ms,
                    "joined_ms": now.joined_ms,
                    "assigned_ms": now.assigned_ms,
                    "stable_ms": now.stable_ms,
                    "ended_ms": ended_ms,
                    "join_ms": _less(now.joined_ms, now.preparing_ms),
                    "sync_ms": _less(settled_ms, now.joined_ms),
                    "protocol": now.protocol,
                    "leader": now.leader,
                    "member_count": now.member_count,
                    "cause": now.cause,
                    "culprit": now.culprit,
                    "outcome": outcome,
                    "members": sorted(now.members.values(), key=lambda m: str(m["member_id"])),
                    "assignment": {
                        member_id: _partitions(given)
                        for member_id, given in sorted(now.assignment.items())
                        if now.stored
                    },
                }
            )
        )

    def close(self) -> None:
        """The simulation is over, and the last generation lasts."""
        self._over(None)
        self._give_up()

    def _give_up(self) -> None:
        """A generation that was prepared, and that nobody will see."""
        if self._next is not None:
            self._say(self._next, None)
            self._next = None


_ON: Mapping[str, Callable[[GroupTruth, Event, Group | None, int], None]] = {
    "REBALANCE_START": GroupTruth._prepares,
    "JOIN_COMPLETE": GroupTruth._joined,
    "GROUP_EMPTY": GroupTruth._joined,
    "ASSIGNMENT_RECEIVED": GroupTruth._assigned,
    "STATE": GroupTruth._moved,
    "STORE_FAILED": GroupTruth._failed,
    "LEFT": GroupTruth._departs,
    "HEARTBEAT_EXPIRED": GroupTruth._departs,
    "UNLOADED": GroupTruth._unloads,
    "LOADED": GroupTruth._loads,
}


def _less(later_ms: int | None, earlier_ms: int | None) -> int | None:
    return None if later_ms is None or earlier_ms is None else later_ms - earlier_ms


def _partitions(assignment: bytes) -> list[list[Any]]:
    """[topic, partition] in order; nothing where a member was given nothing."""
    try:
        found = decode_assignment(assignment).partitions if assignment else []
    except BadRecord:
        return []
    return sorted([topic, number] for topic, numbers in found for number in numbers)


class Ownership:
    """Who has a group's partitions, by what the applications were told.

    ``unowned_ms``: over all partitions, the time that one had no owner since it first had one;
    ``double_ms``: the time that one had two or more.  ``lasted_ms(since, until)``: how much of a
    time counts.
    """

    def __init__(
        self, lasted_ms: Callable[[int, int], int] = lambda since, until: until - since
    ) -> None:
        self._lasted_ms = lasted_ms
        self.unowned_ms = 0
        self.double_ms = 0
        self.moves = 0
        self._owners: dict[TopicPartition, set[str]] = {}
        self._since_ms: dict[TopicPartition, int] = {}
        self._last: dict[TopicPartition, str] = {}

    def gained(self, owner: str, partition: TopicPartition, now_ms: int) -> None:
        self._count(partition, now_ms)
        if self._last.get(partition, owner) != owner:
            self.moves += 1
        self._last[partition] = owner
        self._owners.setdefault(partition, set()).add(owner)

    def let_go(self, owner: str, partition: TopicPartition, now_ms: int) -> None:
        self._count(partition, now_ms)
        self._owners.get(partition, set()).discard(owner)

    def gone(self, owner: str, now_ms: int) -> None:
        for partition, owners in self._owners.items():
            if owner in owners:
                self.let_go(owner, partition, now_ms)

    def owned_by(self, owner: str) -> list[TopicPartition]:
        return [partition for partition, owners in self._owners.items() if owner in owners]

    def close(self, now_ms: int) -> None:
        for partition in self._owners:
            self._count(partition, now_ms)

    def _count(self, partition: TopicPartition, now_ms: int) -> None:
        owners = self._owners.get(partition)
        lasted_ms = self._lasted_ms(self._since_ms.get(partition, now_ms), now_ms)
        self._since_ms[partition] = now_ms
        if owners is None:
            return
        if not owners:
            self.unowned_ms += lasted_ms
        elif len(owners) > 1:
            self.double_ms += lasted_ms
