"""Texts of notes: states, causes of rebalances, and who creates and completes delayed joins."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator_core.diagram.modern_words import CHANGES
from coordinator_core.diagram.names import Names
from coordinator_core.diagram.recording import (
    DelayedJoinStatus,
    Entry,
    GroupEvent,
    Recording,
    RequestArrived,
    TimerFired,
)
from coordinator_core.diagram.words import op_name, seconds
from coordinator_core.protocol.messages import Event

_CAUSES = {
    "MEMBER_NEW": "new member {who}",
    "LEADER_REJOIN": "leader {who} rejoins",
    "METADATA_CHANGE": "{who} rejoins",
    "LEAVE": "{who} left",
    "SESSION_EXPIRY": "session of {who} expired",
    "SYNC_TIMEOUT": "members did not sync",
    "STATIC_UPDATE": "static member returned as {who}",
    "STORE_ERROR": "assignment not stored",
}
_EVENTS = {
    "GROUP_EMPTY": "no members left",
    "GROUP_DEAD": "group removed",
    "HEARTBEAT_EXPIRED": "session of {who} expired, member removed",
    "PENDING_EXPIRED": "{who} did not join with its member id in time: member removed",
    "DROPPED_NOT_REJOINED": "{members} did not rejoin in time: members removed",
    "LEADER_REPLACED": "leader {who} did not rejoin in time: {new_leader} leads",
    "LEADER_LOST": "leader {who} and all other members did not rejoin in time",
    "NOBODY_REJOINED": "no member rejoined in time: the wait starts again",
    "EMPTY_ASSIGNMENTS": "the leader assigned nothing to {members}",
    "SYNC_TIMEOUT": "{members} did not sync in time: members removed",
    "STATIC_REPLACED": "{who} replaces {old}, instance {instance}",
    "STATIC_NO_REBALANCE": "no rebalance",
    "STORE_FAILED": "append failed",
    "FENCED": "{who} removed: {reason}",
    "CONVERT": "the group is converted: {step}",
    "TARGET": "assignor {assignor} computes the target assignment of epoch {epoch}",
    "OTHER": "{step}",
}
_STEPS = {
    "to_consumer": "from classic to consumer",
    "to_classic": "from consumer to classic",
    "empty_to_consumer": "from empty classic to consumer",
    "empty_to_classic": "from empty consumer to classic",
    "empty_to_streams": "from empty classic to streams",
    "empty_streams_to_classic": "from empty streams to classic",
    "upgrade_disabled": "no upgrade: disabled by group.consumer.migration.policy",
    "upgrade_other_protocol": "no upgrade: the group has another protocol type",
    "upgrade_too_large": "no upgrade: the group is larger than group.consumer.max.size",
    "downgrade_disabled": "no downgrade: disabled by group.consumer.migration.policy",
    "downgrade_too_large": "no downgrade: the group is larger than group.max.size",
    "migration_disabled": "migration disabled by group.consumer.migration.policy",
}
# Expiries that may complete a delayed join in the same turn.
_EXPIRIES = {"HEARTBEAT_EXPIRED": "session expiry", "PENDING_EXPIRED": "join timeout"}


class Notes:
    """Texts of entries, which must be passed in their order."""

    def __init__(self, recording: Recording, names: Names) -> None:
        self._recording = recording
        self._names = names
        self._by = ""  # the turn's request or timer, e.g. "b's JoinGroup"
        self._rebalance_started = False  # in this turn
        self._states: dict[str, tuple[str, int]] = {}

    def turn(self, entry: RequestArrived | TimerFired) -> None:
        """Start the turn of the next request or timer."""
        self._rebalance_started = False
        self._by = ""
        if isinstance(entry, RequestArrived):
            op = self._recording.steps[entry.step_id]["op"]
            if op != "fault" and op not in CHANGES:
                self._by = f"{self._names.of_step(entry.step_id)}'s {op_name(op)}"

    def text(self, entry: GroupEvent | DelayedJoinStatus) -> str | None:
        """The text of the entry, or None if it needs no note."""
        if isinstance(entry, DelayedJoinStatus):
            return self._delayed_join(entry)
        return self._event(entry.event)

    def is_continued_by(self, entry: Entry) -> bool:
        """Returns whether the previous state goes into the same note as this entry."""
        return isinstance(entry, GroupEvent) and entry.event.kind in _SHARE_NOTE_WITH_STATE

    def state(self, group_id: str, state: str, generation: int) -> str | None:
        """The text of a group's state, or None if state and generation are unchanged."""
        if self._states.get(group_id) == (state, generation):
            return None
        self._states[group_id] = state, generation
        name = self._recording.state_names.get(state, state)
        return name if state == "Dead" else f"{name}, generation {generation}"

    def _delayed_join(self, status: DelayedJoinStatus) -> str:
        until = f"until {seconds(status.deadline_ms)}"
        awaited = self._names.of_members(status.awaited)
        if status.is_longer and status.is_initial:
            return f"new members joined: the initial delayed join is extended {until}"
        if status.is_longer:
            return f"the delayed join waits for {awaited} again, at most {until}"
        if status.is_initial and not status.is_new:
            return f"the initial delayed join still waits {until}"
        if status.is_initial:
            return f"{self._by} creates the initial delayed join, which waits {until}"
        if status.is_new:
            return (
                f"{self._by} creates the delayed join, which waits for {awaited}, at most {until}"
            )
        return f"the delayed join still waits for {awaited}"

    def _event(self, event: Event) -> str | None:
        kind, fields = event.kind, event.fields
        if kind == "EMPTY_ASSIGNMENTS" and fields.get("step") != "set":
            return None  # the event is repeated for each member that receives a response
        if kind == "SYNC_TIMEOUT":
            self._by = "the sync timeout"
        if kind in _EXPIRIES:
            self._by = f"{self._names.of_member(fields['member_id'])}'s {_EXPIRIES[kind]}"
        if kind == "REBALANCE_START":
            self._rebalance_started = True
            return self._rebalance(event)
        if kind == "JOIN_COMPLETE":
            return self._completion()
        template = _EVENTS.get(kind)
        return None if template is None else template.format(**self._named(fields))

    def _rebalance(self, event: Event) -> str:
        template = _CAUSES.get(event.fields.get("cause", ""))
        if template is None:
            return "rebalance starts"
        return "rebalance starts: " + template.format(**self._named(event.fields))

    def _completion(self) -> str:
        if not self._recording.has_engine_events:
            return "join complete"
        if self._rebalance_started and self._by:
            return f"{self._by} creates the delayed join and completes it at once"
        return f"{self._by or 'the join timer'} completes the delayed join"

    def _named(self, fields: Mapping[str, object]) -> dict[str, str]:
        """The names that templates use, from an event's fields."""

        def name(key: str) -> str:
            member_id = fields.get(key)
            return self._names.of_member(None if member_id is None else str(member_id))

        members = fields.get("members", ())
        assert isinstance(members, tuple)
        return {
            "who": name("member_id") if "member_id" in fields else self._names.of_members(members),
            "old": name("old_member_id"),
            "new_leader": name("new_leader_id"),
            "members": self._names.of_members(members),
            "instance": str(fields.get("instance_id")),
            "step": _STEPS.get(str(fields.get("step")), ""),
            **{name: str(fields.get(name)) for name in ("reason", "assignor", "epoch")},
        }


_SHARE_NOTE_WITH_STATE = frozenset(
    {"REBALANCE_START", "JOIN_COMPLETE", "GROUP_EMPTY", "GROUP_DEAD"}
)
