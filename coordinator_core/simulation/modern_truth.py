"""The ground truth about a consumer, share or streams group: its targets, and who reached them.

The truth is taken from the coordinator's group and events.  A generation is a target assignment,
its number the assignment epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.protocol.messages import Event, TopicPartition
from coordinator_core.simulation.outputs import TruthLine

_EXPIRED, _TIMED_OUT = "session expired", "failed to transition"
_STABLE = "STABLE"
# Types of records: group epochs, target assignments, and a resolved regular expression.
_EPOCH_RECORDS = frozenset({3, 11, 17})
_TARGET_RECORDS = frozenset({6, 12, 20})
_REGEX_RECORD = 16
NOT_STABLE = frozenset({"Assigning", "Reconciling", "NotReady"})


@dataclass(kw_only=True)
class TargetTruth:
    """``preparing_ms`` says when the group epoch was counted up first since the target before."""

    number: int
    preparing_ms: int
    joined_ms: int
    stable_ms: int | None = None
    is_empty: bool = False
    assignor: str | None = None
    causes: list[tuple[str, str | None]] = field(default_factory=list)
    member_count: int = 0
    members: dict[str, dict[str, Any]] = field(default_factory=dict)
    moved: int = 0


class ModernTruth:
    """``topic_names`` has names by topic id.  ``converted_from`` is the generation of the classic
    group, whose assignment is the first target.  Figures: ``targets``, ``bumps``, ``joined``,
    ``left``, ``expired``, ``timed_out`` (by the rebalance timeout), ``moved``; ``not_stable_ms``.
    """

    def __init__(
        self, group_id: str, emit: Callable[[TruthLine], None], topic_names: Mapping[str, str]
    ) -> None:
        self.group_id = group_id
        self._topic_names = topic_names
        self._topic_ids = {name: topic_id for topic_id, name in topic_names.items()}
        self.group_type: GroupType | None = None  # None until the group's first record
        self.incarnation = 1
        self.converted_from = 0
        self.targets = self.bumps = self.joined = self.left = 0
        self.expired = self.timed_out = self.moved = 0
        self.not_stable_ms = 0
        self._emit = emit
        self._current: TargetTruth | None = None
        self._preparing_ms: int | None = None
        self._causes: list[tuple[str, str | None]] = []
        self._events: list[tuple[str, str | None]] = []  # events since the last append
        self._assignor: str | None = None
        self._known: dict[str, tuple[int, str]] = {}  # member id -> last known epoch and state
        self._assigned: dict[str, Any] = {}
        self._owners: dict[tuple[Any, ...], str] = {}
        self._present: frozenset[str] = frozenset()
        self._state = ""
        self._since_ms = 0

    # -- events

    def happened(self, event: Event) -> None:
        handler = _HANDLERS.get(event.kind)
        if handler is not None:
            handler(self, event)

    def _joins(self, event: Event) -> None:
        self._events.append(("MEMBER_NEW", event.fields.get("member_id")))

    def _returns(self, event: Event) -> None:
        self._events.append(("STATIC_RETURN", event.fields.get("member_id")))

    def _leaves(self, event: Event) -> None:
        if event.fields.get("step") == "temporarily":
            self._events.append(("STATIC_LEAVE", event.fields.get("member_id")))
            return
        self.left += 1
        self._events.append(("LEAVE", event.fields.get("member_id")))

    def _fenced(self, event: Event) -> None:
        reason = str(event.fields.get("reason", ""))
        self.expired += _EXPIRED in reason
        self.timed_out += _TIMED_OUT in reason
        cause = "SESSION_EXPIRY" if _EXPIRED in reason else "REBALANCE_TIMEOUT"
        self._events.append((cause, event.fields.get("member_id")))

    def _computed(self, event: Event) -> None:
        self._assignor = event.fields.get("assignor")

    # -- records

    def stored(self, group: ModernGroup, kinds: frozenset[int], now_ms: int) -> None:
        """Records of the group were appended; the group is as they left it.

        ``kinds`` are the types of the records with a value.
        """
        self.group_type = group.group_type
        if not kinds.isdisjoint(_EPOCH_RECORDS) and group.epoch != self.converted_from:
            self._bumped(group, now_ms, resolves=_REGEX_RECORD in kinds)
        if self.bumps:  # The first member's regular expression is resolved after the member joined.
            self._events = []
        if not kinds.isdisjoint(_TARGET_RECORDS) and group.assignment_epoch != self.converted_from:
            self._begin(group, now_ms)
        self._note_members(group, now_ms)
        current = self._current
        if current is not None and current.stable_ms is None and self._is_stable(group):
            current.stable_ms = None if current.is_empty else now_ms
        if group.is_empty():  # Events before the next member joins do not count.
            self._preparing_ms, self._causes = None, []
        self._note_state(group.state_name(), now_ms)

    def _bumped(self, group: ModernGroup, now_ms: int, *, resolves: bool) -> None:
        self.bumps += 1
        if self._events:
            self._causes.append(self._events[0])
        else:
            self._causes.append(("REGEX" if resolves else "TOPIC_CHANGE", None))
        if self._preparing_ms is None:
            self._preparing_ms = now_ms

    def _begin(self, group: ModernGroup, now_ms: int) -> None:
        preparing_ms = now_ms if self._preparing_ms is None else self._preparing_ms
        self._end(now_ms)
        self.targets += 1
        self._current = TargetTruth(
            number=group.assignment_epoch,
            preparing_ms=preparing_ms,
            joined_ms=now_ms,
            is_empty=group.is_empty(),
            assignor=self._assignor,
            causes=self._causes,
            member_count=len(_members(group)),
        )
        self._preparing_ms, self._causes, self._assignor = None, [], None

    def _note_state(self, state: str, now_ms: int) -> None:
        """Count the time in the previous state. Share groups have no state for a rebalance."""
        if state == self._state:
            return
        if self._state in NOT_STABLE:
            self.not_stable_ms += now_ms - self._since_ms
        if state in NOT_STABLE or self._state in NOT_STABLE:
            self._emit(
                TruthLine(
                    {"truth": "state", "at_ms": now_ms, "group": self.group_id, "state": state}
                )
            )
        self._state, self._since_ms = state, now_ms

    def _note_members(self, group: ModernGroup, now_ms: int) -> None:
        current = self._current
        members = _members(group)
        for member_id, member in members.items():
            self.joined += member_id not in self._present
            if current is not None:
                current.members[member_id] = {
                    "member_id": member_id,
                    "instance_id": getattr(member, "instance_id", None),
                    "client_id": member.client_id,
                    "client_host": member.client_host,
                }
            self._count_moves(member_id, member, now_ms)
        self._present = frozenset(members)
        for member_id in [each for each in self._assigned if each not in members]:
            del self._assigned[member_id]

    def _has_owners(self) -> bool:
        """Returns whether a partition has one owner at a time."""
        return self.group_type is None or self.group_type.revokes

    def _count_moves(self, member_id: str, member: Any, now_ms: int) -> None:
        if self._assigned.get(member_id) is member.assigned or not self._has_owners():
            return
        self._assigned[member_id] = member.assigned
        owner, units = _owner(member), _units(member.assigned)
        moved = sum(self._owners.get(unit, owner) != owner for unit in units)
        self._owners.update(dict.fromkeys(units, owner))
        if not units:
            return
        self.moved += moved
        if self._current is not None:
            self._current.moved += moved
        assigned = sorted([self._topic_names.get(unit[0], unit[0]), unit[1]] for unit in units)
        self._emit(
            TruthLine(
                {
                    "truth": "moves",
                    "at_ms": now_ms,
                    "group": self.group_id,
                    "moves": moved,
                    "process": member.client_id,
                    "assigned": assigned,
                }
            )
        )

    def _is_stable(self, group: ModernGroup) -> bool:
        if group.epoch != group.assignment_epoch:
            return False
        return all(
            epoch == group.assignment_epoch and state == _STABLE
            for _, epoch, state in group.member_rows()
        )

    # -- truth lines

    def _end(self, now_ms: int | None, *, converts: bool = False) -> None:
        ended, self._current = self._current, None
        if ended is None:
            return
        outcome = "empty" if ended.is_empty else "stable"
        if ended.stable_ms is None and not ended.is_empty:
            outcome = "superseded" if now_ms is not None and not converts else "unknown"
        settled_ms = ended.joined_ms if ended.is_empty else now_ms
        if ended.stable_ms is not None:
            settled_ms = ended.stable_ms
        sync_ms = None if settled_ms is None else settled_ms - ended.joined_ms
        cause, culprit = next(iter(ended.causes), (None, None))
        self._emit(
            TruthLine(
                {
                    "truth": "generation",
                    "group": self.group_id,
                    "group_type": self.group_type.name if self.group_type else "",
                    "incarnation": self.incarnation,
                    "generation": ended.number,
                    "preparing_ms": ended.preparing_ms,
                    "joined_ms": ended.joined_ms,
                    "assigned_ms": ended.stable_ms,
                    "stable_ms": ended.stable_ms,
                    "ended_ms": now_ms,
                    "join_ms": ended.joined_ms - ended.preparing_ms,
                    "sync_ms": sync_ms,
                    "protocol": ended.assignor,
                    "leader": None,
                    "member_count": ended.member_count,
                    "cause": cause,
                    "culprit": culprit,
                    "causes": [list(each) for each in ended.causes],
                    "outcome": outcome,
                    "moved": ended.moved,
                    "members": sorted(ended.members.values(), key=lambda m: str(m["member_id"])),
                    "assignment": {},
                }
            )
        )

    def close(self, now_ms: int) -> None:
        """Emit the last generation, without an end."""
        self._note_state("", now_ms)
        self._end(None)

    @property
    def is_current(self) -> bool:
        """Returns whether the group is not a classic group, by its last records."""
        return self._current is not None or bool(self._present)

    def takes_over(self, generation: int, owners: Mapping[TopicPartition, str]) -> None:
        """The group was a classic group of this generation until now."""
        self.converted_from = generation
        self._owners.update(
            {(self._topic_ids.get(topic, topic), n): owner for (topic, n), owner in owners.items()}
        )

    def converted(self, now_ms: int) -> None:
        """The group is a classic group now."""
        self._present = frozenset()
        self._note_state("", now_ms)
        self._end(now_ms, converts=True)
        self._preparing_ms = None
        self._causes = []
        self._assigned.clear()


_HANDLERS: Mapping[str, Callable[[ModernTruth, Event], None]] = {
    "MEMBER_JOIN": ModernTruth._joins,
    "STATIC_REPLACED": ModernTruth._returns,
    "LEFT": ModernTruth._leaves,
    "FENCED": ModernTruth._fenced,
    "TARGET": ModernTruth._computed,
}


def _members(group: ModernGroup) -> Mapping[str, Any]:
    members: Mapping[str, Any] = getattr(group, "members", {})
    return members


def _owner(member: Any) -> str:
    """A static member's instance id, else the client id, which is the process' name."""
    return str(getattr(member, "instance_id", None) or member.client_id)


def _units(assigned: Any) -> list[tuple[Any, ...]]:
    """The units of a consumer group's member are (topic id, partition); those of a streams group's
    member are active tasks.
    """
    by_topic = getattr(assigned, "active", assigned)
    return [(topic, number) for topic, numbers in by_topic.items() for number in numbers]
