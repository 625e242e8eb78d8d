"""The incident as sentences: who did what, what it led to, and how long the rebalance took."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from coordinator_core.incident.members import MemberDirectory
from coordinator_core.incident.replay import GroupReplay, ReplayedGeneration, ReplayVerdict
from coordinator_core.incident.stimuli import StimulusKind
from coordinator_core.protocol.processes import client_of


class StoryLine(NamedTuple):
    at_ms: int
    incarnation: int
    generation: int
    text: str


class _Event(NamedTuple):
    """A log line of production; for a generation without log lines, an event of the engine."""

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
    "SESSION_EXPIRY": "session of {who} expired",
    "LEAVE": "{who} leaves",
    "LEADER_REJOIN": "leader {who} rejoins",
    "METADATA_CHANGE": "{who} rejoins with changed metadata",
    "STATIC_UPDATE": "static member {who} returns with changed metadata",
    "SYNC_TIMEOUT": "{who} sent no SyncGroup in time",
    "STORE_ERROR": "the assignment could not be stored",
    "CONVERT": "the group was converted from the consumer protocol",
    "OVER_CAPACITY": "the group exceeds group.max.size",
}


def story(replay: GroupReplay) -> list[StoryLine]:
    """Lines in the order of generations; times are production's times if a log has them."""
    return [line for each in replay.generations for line in _GenerationStory(replay, each).lines()]


class _GenerationStory:
    def __init__(self, replay: GroupReplay, generation: ReplayedGeneration) -> None:
        self.generation = generation
        self.directory: MemberDirectory = replay.members[generation.incarnation]
        self.events = list(_events(generation))
        starts = (each.at_ms for each in self.events if each.kind == "REBALANCE_START")
        self.started_ms = next(starts, None)
        self.joined_ms: int | None = None
        self.triggers: set[str] = set()  # members whose join or departure started the rebalance

    def lines(self) -> Iterator[StoryLine]:
        for event in self.events:
            sentence = _SENTENCES.get(event.kind)
            text = None if sentence is None else sentence(self, event)
            if text is not None:
                yield self._line(event.at_ms, text)
        divergence = self.generation.comparison.divergence
        if divergence is not None:
            is_undecided = self.generation.verdict is ReplayVerdict.UNDECIDED
            verdict = "evidence too thin for a verdict" if is_undecided else "replay DIVERGES"
            yield self._line(self.generation.explained.ends_ms, f"{verdict}: {divergence}")

    def _line(self, at_ms: int, text: str) -> StoryLine:
        return StoryLine(at_ms, self.generation.incarnation, self.generation.number, text)

    def who(self, member_id: str) -> str:
        """Instance id or client id, and host."""
        member = self.directory.at(member_id, self.generation.number)
        name = member.instance_id or member.client_id or client_of(member_id)
        return f"{name} ({member.client_host.lstrip('/') or 'host unknown'})"

    def rebalance_start(self, event: _Event) -> str:
        members = event.members or (event.member_id,)
        self.triggers.update(members)
        cause = _CAUSES.get(event.cause or "", "reason not logged")
        reason = f"; client reason: {event.reason}" if event.reason else ""
        who = ", ".join(map(self.who, members))
        return (
            f"rebalance starts for generation {self.generation.number}:"
            f" {cause.format(who=who)}{reason}"
        )

    def heartbeat_expired(self, event: _Event) -> str:
        member = self.directory.at(event.member_id, self.generation.number)
        return (
            f"no heartbeat from {self.who(event.member_id)} for"
            f" {seconds(member.session_timeout_ms)}: session expired, member removed"
        )

    def left(self, event: _Event) -> str | None:
        if event.member_id in self.triggers:
            return None
        reason = f"; client reason: {event.reason}" if event.reason else ""
        return f"{self.who(event.member_id)} leaves{reason}"

    def member_join(self, event: _Event) -> str | None:
        if event.step == "id_required":
            return f"{self.who(event.member_id)} joins without a member id and receives one"
        return None if event.step == "static" else f"{self.who(event.member_id)} joins"

    def static_replaced(self, event: _Event) -> str:
        return f"a new process replaces static member {event.instance_id} without a rebalance"

    def dropped(self, event: _Event) -> str:
        return f"removed, did not rejoin in time: {', '.join(map(self.who, event.members))}"

    def join_complete(self, event: _Event) -> str:
        self.joined_ms = event.at_ms
        count = f"{event.member_count} member{'s' * (event.member_count != 1)}"
        took = _since(self.started_ms, event.at_ms)
        return f"join of generation {self.generation.number} completes with {count}{took}"

    def assignment_received(self, event: _Event) -> str:
        took = _since(self.joined_ms, event.at_ms)
        text = f"leader {self.who(event.member_id)} sends the assignment (SyncGroup){took}"
        if self.started_ms is None:
            return text
        text += f"; the rebalance took {seconds(event.at_ms - self.started_ms)}"
        return text + self._longest_wait(event.at_ms)

    def group_empty(self, event: _Event) -> str:
        return f"no members left: generation {self.generation.number} is empty"

    def store_failed(self, event: _Event) -> str:
        return "the group record could not be stored"

    def _longest_wait(self, to_ms: int) -> str:
        """The wait of the first new member, if it was waiting since before the rebalance ended."""
        joins = (StimulusKind.ASK_ID, StimulusKind.JOIN)
        waiting = [each for each in self.generation.explained.stimuli if each.kind in joins]
        first = min(waiting, key=lambda each: each.at_ms, default=None)
        if first is None or first.at_ms >= to_ms or not self.generation.explained.is_logged:
            return ""
        return f", {self.who(first.member_id)} waited {seconds(to_ms - first.at_ms)}"


_SENTENCES: Mapping[str, Callable[[_GenerationStory, _Event], str | None]] = {
    "REBALANCE_START": _GenerationStory.rebalance_start,
    "HEARTBEAT_EXPIRED": _GenerationStory.heartbeat_expired,
    "LEFT": _GenerationStory.left,
    "MEMBER_JOIN": _GenerationStory.member_join,
    "STATIC_NEW": _GenerationStory.member_join,
    "STATIC_REPLACED": _GenerationStory.static_replaced,
    "DROPPED_NOT_REJOINED": _GenerationStory.dropped,
    "JOIN_COMPLETE": _GenerationStory.join_complete,
    "ASSIGNMENT_RECEIVED": _GenerationStory.assignment_received,
    "GROUP_EMPTY": _GenerationStory.group_empty,
    "STORE_FAILED": _GenerationStory.store_failed,
}


def _events(generation: ReplayedGeneration) -> Iterator[_Event]:
    if generation.explained.is_logged:
        for line in generation.explained.evidence.events:
            yield _Event(
                at_ms=line.at_ms,
                kind=line.event,
                member_id=line.member_id or "",
                members=line.members,
                cause=line.cause,
                step=line.step,
                instance_id=line.instance_id,
                member_count=line.member_count or 0,
                reason=line.client_reason,
            )
        return
    for each in generation.engine_outputs:
        if each.event is not None:
            fields = each.event.fields
            yield _Event(
                at_ms=each.at_ms,
                kind=each.event.kind,
                member_id=fields.get("member_id") or "",
                members=tuple(fields.get("members") or ()),
                cause=fields.get("cause"),
                step=fields.get("step"),
                instance_id=fields.get("instance_id"),
                member_count=fields.get("member_count") or 0,
                reason=fields.get("client_reason"),
            )


def _since(from_ms: int | None, to_ms: int) -> str:
    return "" if from_ms is None else f" after {seconds(to_ms - from_ms)}"


def seconds(ms: int) -> str:
    return f"{ms} ms" if abs(ms) < 1000 else f"{ms / 1000:.1f} s"
