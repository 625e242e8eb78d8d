"""What notes say: why a rebalance began, who made and who completed the delayed join."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator_core.diagram.entries import Asked, Entry, Fired, Story, Told, Waits
from coordinator_core.diagram.names import Names
from coordinator_core.diagram.words import op_name, seconds
from coordinator_core.protocol.messages import Event

_CAUSES = {
    "MEMBER_NEW": "{who} is new",
    "LEADER_REJOIN": "the leader {who} rejoins",
    "METADATA_CHANGE": "{who} rejoins",
    "LEAVE": "{who} left",
    "HEARTBEAT_EXPIRY": "{who} has failed",
    "SYNC_TIMEOUT": "some did not sync",
    "STATIC_UPDATE": "{who} took its instance's place",
    "STORE_ERROR": "the assignment was not stored",
}
_TOLD = {
    "GROUP_EMPTY": "nobody is left",
    "GROUP_DEAD": "the group is gone",
    "HEARTBEAT_EXPIRED": "the session of {who} ends: it is removed",
    "PENDING_EXPIRED": "{who} did not come back with its id in time",
    "DROPPED_NOT_REJOINED": "not back in time, so dropped: {members}",
    "LEADER_REPLACED": "the leader {who} is not back in time: {new_leader} leads",
    "LEADER_LOST": "the leader {who} is not back in time, nor is anybody else",
    "NOBODY_REJOINED": "nobody is back in time: the wait begins again",
    "EMPTY_ASSIGNMENTS": "the leader gave nothing to {members}",
    "SYNC_TIMEOUT": "no SyncGroup in time, so dropped: {members}",
    "STATIC_REPLACED": "{who} takes the place of {old}, instance {instance}",
    "STATIC_NO_REBALANCE": "no rebalance",
    "STORE_FAILED": "the append failed",
}
# Their time ran out: in the same turn they may end the wait for joins.
_EXPIRIES = {"HEARTBEAT_EXPIRED": "session", "PENDING_EXPIRED": "time"}


class Notes:
    """The words of what happens inside, in the order in which it happens."""

    def __init__(self, story: Story, names: Names) -> None:
        self._story = story
        self._names = names
        self._by = ""  # who or what the turn is of: "b's JoinGroup"
        self._began = False  # whether a rebalance began in this turn
        self._states: dict[str, tuple[str, int]] = {}
        self._pending = ""  # a state that the next event says more of

    def turn(self, entry: Asked | Fired) -> None:
        """The next request or timer."""
        self._began = False
        self._by = ""
        if isinstance(entry, Asked) and (op := self._story.steps[entry.step_id]["op"]) != "fault":
            self._by = f"{self._names.of_step(entry.step_id)}'s {op_name(op)}"

    def text(self, entry: Told | Waits) -> str | None:
        """None for what needs no words, or will be said with the next event."""
        return self._waits(entry) if isinstance(entry, Waits) else self._told(entry.event)

    def is_continued_by(self, entry: Entry) -> bool:
        """Whether a state that was told last is said together with this."""
        return isinstance(entry, Told) and entry.event.kind in _CONTINUES

    def state(self, group_id: str, state: str, generation: int) -> str | None:
        """A state of a group, if it is not the one it was in."""
        if self._states.get(group_id) == (state, generation):
            return None
        self._states[group_id] = state, generation
        name = self._story.state_names.get(state, state)
        return name if state == "Dead" else f"{name}, generation {generation}"

    def _waits(self, entry: Waits) -> str:
        until = f"until {seconds(entry.deadline_ms)}"
        awaited = self._names.of_members(entry.awaited)
        if entry.is_longer and entry.is_initial:
            return f"new members came: the initial delayed join waits on, {until}"
        if entry.is_longer:
            return f"the delayed join waits for {awaited} once more, at most {until}"
        if entry.is_initial and not entry.is_new:
            return f"the initial delayed join still waits {until}"
        if entry.is_initial:
            return f"{self._by} makes the initial delayed join: it waits {until}, whoever comes"
        if entry.is_new:
            return f"{self._by} makes the delayed join: it waits for {awaited}, at most {until}"
        return f"the delayed join still waits for {awaited}"

    def _told(self, event: Event) -> str | None:
        kind, fields = event.kind, event.fields
        if kind == "EMPTY_ASSIGNMENTS" and fields.get("step") != "set":
            return None  # said of each member when it is answered
        if kind == "SYNC_TIMEOUT":
            self._by = "the end of the wait for syncs"
        if kind in _EXPIRIES:
            self._by = (
                f"the end of {self._names.of_member(fields['member_id'])}'s {_EXPIRIES[kind]}"
            )
        if kind == "REBALANCE_START":
            self._began = True
            return self._rebalance(event)
        if kind == "JOIN_COMPLETE":
            return self._completion()
        template = _TOLD.get(kind)
        return None if template is None else template.format(**self._spoken(fields))

    def _rebalance(self, event: Event) -> str:
        template = _CAUSES.get(event.fields.get("cause", ""))
        if template is None:
            return "a rebalance begins"
        return "a rebalance begins: " + template.format(**self._spoken(event.fields))

    def _completion(self) -> str:
        if not self._story.is_seen_inside:
            return "the join is complete"
        if self._began and self._by:
            return f"{self._by} makes the delayed join and completes it at once"
        return f"{self._by or 'its own timer'} completes the delayed join"

    def _spoken(self, fields: Mapping[str, object]) -> dict[str, str]:
        def named(key: str) -> str:
            found = fields.get(key)
            return self._names.of_member(None if found is None else str(found))

        members = fields.get("members", ())
        assert isinstance(members, tuple)
        return {
            "who": named("member_id") if "member_id" in fields else self._names.of_members(members),
            "old": named("old_member_id"),
            "new_leader": named("new_leader_id"),
            "members": self._names.of_members(members),
            "instance": str(fields.get("instance_id")),
        }


_CONTINUES = frozenset({"REBALANCE_START", "JOIN_COMPLETE", "GROUP_EMPTY", "GROUP_DEAD"})
