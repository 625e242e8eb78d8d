"""The incident as a person reads it: who did what, what it led to, how long everybody waited."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from coordinator_core.incident.members import MemberDirectory, client_of
from coordinator_core.incident.replay import GroupReplay, ReplayedGeneration
from coordinator_core.incident.stimuli import StimulusKind


class StoryLine(NamedTuple):
    at_ms: int
    incarnation: int
    generation: int
    text: str


class _Event(NamedTuple):
    """A line of the log; where no log tells, what the engine said."""

    at_ms: int
    kind: str
    member_id: str
    members: tuple[str, ...]
    cause: str | None
    step: str | None
    instance_id: str | None
    member_count: int
    reason: str | None


_CAUSES = {
    "MEMBER_NEW": "{who} joins",
    "HEARTBEAT_EXPIRY": "{who} is silent",
    "LEAVE": "{who} leaves",
    "LEADER_REJOIN": "its leader, {who}, asks for one",
    "METADATA_CHANGE": "{who} rejoins with another subscription",
    "STATIC_UPDATE": "{who} is back and wants something else",
    "SYNC_TIMEOUT": "{who} never asked for its assignment",
    "STORE_ERROR": "the assignment could not be written",
    "OVER_CAPACITY": "the group is too large",
}


def story(replay: GroupReplay) -> list[StoryLine]:
    """Lines in the order of generations; times are production's where a log has them."""
    return [line for each in replay.generations for line in _Teller(replay, each).tell()]


class _Teller:
    def __init__(self, replay: GroupReplay, generation: ReplayedGeneration) -> None:
        self.generation = generation
        self.known: MemberDirectory = replay.members[generation.incarnation]
        self.signs = list(_signs(generation))
        self.started_ms = next((s.at_ms for s in self.signs if s.kind == "REBALANCE_START"), None)
        self.joined_ms: int | None = None
        self.named: set[str] = set()  # whose coming or going began it

    def tell(self) -> Iterator[StoryLine]:
        for sign in self.signs:
            tell = _TELL.get(sign.kind)
            text = None if tell is None else tell(self, sign)
            if text is not None:
                yield self._line(sign.at_ms, text)
        difference = self.generation.outcome.difference
        if difference is not None:
            at_ms = self.generation.explained.ends_ms
            yield self._line(at_ms, f"here the replay DIVERGES: {difference}")

    def _line(self, at_ms: int, text: str) -> StoryLine:
        return StoryLine(at_ms, self.generation.incarnation, self.generation.number, text)

    def who(self, member_id: str) -> str:
        """By client id and host."""
        member = self.known.at(member_id, self.generation.number)
        name = member.instance_id or member.client_id or client_of(member_id)
        return f"{name} ({member.client_host.lstrip('/') or 'host unknown'})"

    def start(self, sign: _Event) -> str:
        members = sign.members or (sign.member_id,)
        self.named.update(members)
        who = ", ".join(map(self.who, members))
        because = _CAUSES.get(sign.cause or "", "of a reason that the log does not name")
        words = f"; it says: {sign.reason}" if sign.reason else ""
        made = self.generation.number
        return f"a rebalance begins, for generation {made}: {because.format(who=who)}{words}"

    def expired(self, sign: _Event) -> str:
        session_ms = self.known.at(sign.member_id, self.generation.number).session_timeout_ms
        return f"{self.who(sign.member_id)} was not heard of for {_seconds(session_ms)}: put out"

    def left(self, sign: _Event) -> str | None:
        if sign.member_id in self.named:
            return None
        words = f": {sign.reason}" if sign.reason else ""
        return f"{self.who(sign.member_id)} left{words}"

    def came(self, sign: _Event) -> str | None:
        if sign.step == "id_required":
            return f"{self.who(sign.member_id)} asks to join and is given an id"
        return None if sign.step == "static" else f"{self.who(sign.member_id)} joins"

    def replaced(self, sign: _Event) -> str:
        return f"a new process comes as {sign.instance_id} and takes its place, no rebalance"

    def dropped(self, sign: _Event) -> str:
        return f"did not rejoin in time, dropped: {', '.join(map(self.who, sign.members))}"

    def joined(self, sign: _Event) -> str:
        self.joined_ms = sign.at_ms
        waited = self._since(self.started_ms, sign.at_ms)
        count = f"{sign.member_count} member{'s' * (sign.member_count != 1)}"
        return f"generation {self.generation.number} has {count}, all there{waited}"

    def assigned(self, sign: _Event) -> str:
        synced = self._since(self.joined_ms, sign.at_ms)
        text = f"its leader {self.who(sign.member_id)} brings the assignment{synced}"
        if self.started_ms is None:
            return text
        text += f"; everybody waited {_seconds(sign.at_ms - self.started_ms)}"
        longest = self._longest(sign.at_ms)
        return text + (f", {longest}" if longest else "")

    def emptied(self, sign: _Event) -> str:
        return f"nobody is left: generation {self.generation.number} is empty"

    def failed(self, sign: _Event) -> str:
        return "the record could not be written"

    def _since(self, from_ms: int | None, to_ms: int) -> str:
        return "" if from_ms is None else f" after {_seconds(to_ms - from_ms)}"

    def _longest(self, to_ms: int) -> str | None:
        """Who asked to join first waited longest."""
        asked = [
            s
            for s in self.generation.explained.stimuli
            if s.kind in (StimulusKind.ASK_ID, StimulusKind.JOIN)
        ]
        first = min(asked, key=lambda each: each.at_ms, default=None)
        if first is None or first.at_ms >= to_ms or not self.generation.explained.is_logged:
            return None
        return f"{self.who(first.member_id)} {_seconds(to_ms - first.at_ms)} since it asked"


_TELL: Mapping[str, Callable[[_Teller, _Event], str | None]] = {
    "REBALANCE_START": _Teller.start,
    "HEARTBEAT_EXPIRED": _Teller.expired,
    "LEFT": _Teller.left,
    "MEMBER_JOIN": _Teller.came,
    "STATIC_NEW": _Teller.came,
    "STATIC_REPLACED": _Teller.replaced,
    "DROPPED_NOT_REJOINED": _Teller.dropped,
    "JOIN_COMPLETE": _Teller.joined,
    "ASSIGNMENT_RECEIVED": _Teller.assigned,
    "GROUP_EMPTY": _Teller.emptied,
    "STORE_FAILED": _Teller.failed,
}


def _signs(generation: ReplayedGeneration) -> Iterator[_Event]:
    if generation.explained.is_logged:
        for line in generation.explained.chapter.events:
            yield _Event(
                line.at_ms,
                line.event,
                line.member_id or "",
                line.members,
                line.cause,
                line.step,
                line.instance_id,
                line.member_count or 0,
                line.client_reason,
            )
        return
    for each in generation.engine_outputs:
        if each.event is not None:
            fields = each.event.fields
            yield _Event(
                each.at_ms,
                each.event.kind,
                fields.get("member_id") or "",
                tuple(fields.get("members") or ()),
                fields.get("cause"),
                fields.get("step"),
                fields.get("instance_id"),
                fields.get("member_count") or 0,
                fields.get("client_reason"),
            )


def _seconds(ms: int) -> str:
    return f"{ms} ms" if abs(ms) < 1000 else f"{ms / 1000:.1f} s"
