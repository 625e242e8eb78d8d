"""Plays a scenario with the engine; scenarios and traces are plain JSON values."""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any

from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig, Era
from coordinator_core.coordinator.turn import MemberIds
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Append,
    DeleteGroup,
    DescribeGroup,
    Effect,
    Event,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Leaver,
    OffsetCommit,
    OffsetFetch,
    Request,
    Respond,
    SyncGroup,
)
from coordinator_core.scenarios.trace_events import record_event, response_event, state_event

Json = Any
Step = Mapping[str, Json]
Trace = list[dict[str, Json]]

_JOIN_V4_KNOWN_MEMBER_ID = "requires_known_member_id"
_JOIN_V9_SKIP_ASSIGNMENT = "supports_skipping_assignment"
_COMMIT_VERSION = 8
_DESCRIBE_VERSION = 5


@lru_cache(maxsize=4096)
def _decoded(text: str) -> bytes:
    return a2b_base64(text)


def given_ids(ids: Iterable[str]) -> MemberIds:
    """Hands out these member ids in order; raises ValueError when they run out."""
    remaining = iter(ids)

    def next_id(group_id: str, prefix: str) -> str:
        member_id = next(remaining, None)
        if member_id is None:
            raise ValueError("no member id is left: the scenario needs more ids than were given")
        return member_id

    return next_id


def derived_ids() -> MemberIds:
    """Ids in a broker's form, derived from the group id and the id's number, so always the same."""
    made: dict[str, int] = {}

    def next_id(group_id: str, prefix: str) -> str:
        made[group_id] = made.get(group_id, 0) + 1
        digest = sha256(f"{group_id}#{made[group_id]}".encode()).hexdigest()
        parts = digest[:8], digest[8:12], "4" + digest[13:16], "a" + digest[17:20], digest[20:32]
        return f"{prefix}-{'-'.join(parts)}"

    return next_id


def config_of(values: Mapping[str, Json]) -> CoordinatorConfig:
    """A scenario's configuration; the default is Kafka's, but without expiry of offsets."""
    settings = {"offsets_topic_partitions": 1} | {
        name: values[name]
        for name in (
            "group_initial_rebalance_delay_ms",
            "group_min_session_timeout_ms",
            "group_max_session_timeout_ms",
            "group_max_size",
            "offsets_retention_ms",
            "offsets_retention_check_interval_ms",
            "offsets_topic_partitions",
        )
        if name in values
    }
    if "offsets_retention_minutes" in values:
        settings["offsets_retention_ms"] = values["offsets_retention_minutes"] * 60_000
    return CoordinatorConfig(**settings)


def play(
    scenario: Mapping[str, Json],
    era: Era,
    member_ids: MemberIds,
    runner: str,
    on_event: Callable[[int, Event], None] | None = None,
) -> Trace:
    """Play the scenario; returns its trace, start line first.

    ``on_event`` is called with the time in ms and each event of a group.
    """
    return ScenarioPlayer(scenario, era, member_ids, on_event).play(runner)


class ScenarioPlayer:
    """Plays one scenario once."""

    def __init__(
        self,
        scenario: Mapping[str, Json],
        era: Era,
        member_ids: MemberIds,
        on_event: Callable[[int, Event], None] | None,
    ) -> None:
        self.on_event = on_event
        self.steps = scenario["steps"]
        self.era = era
        self.made_ids: list[str] = []
        self.coordinator = Coordinator(
            config_of(scenario.get("config", {})), era, self._recording_ids(member_ids)
        )
        self.trace: Trace = []
        self.ops = {step["id"]: step["op"] for step in self.steps}
        self.answers: dict[str, tuple[str, int]] = {}  # "@id" -> member id, generation
        self.fault: Errors | None = None
        self.max_record_bytes = scenario.get("config", {}).get("message_max_bytes")
        # group -> state and generation last shown
        self.shown = {step.get("group", ""): ("Dead", 0) for step in self.steps}
        self.place = {group_id: place for place, group_id in enumerate(self.shown)}
        # groups whose state may have changed since it was last shown
        self.touched: set[str] = set()

    def _recording_ids(self, member_ids: MemberIds) -> MemberIds:
        def made(group_id: str, prefix: str) -> str:
            self.made_ids.append(member_ids(group_id, prefix))
            return self.made_ids[-1]

        return made

    def play(self, runner: str) -> Trace:
        for step in self.steps:
            at_ms = step["at_ms"]
            self._advance(at_ms)
            self._take(step, at_ms)
            self._advance(at_ms)
        start = {"event": "start", "runner": runner, "member_ids": self.made_ids}
        return [start, *self.trace]

    def _advance(self, to_ms: int) -> None:
        """Fire timers up to and including this time, each with its consequences."""
        coordinator = self.coordinator
        while True:
            due_ms = coordinator.next_deadline_ms()
            if due_ms is None or due_ms > to_ms:
                return
            self._perform(coordinator.fire_next(to_ms) or [], due_ms)
            self._show_states(due_ms)

    def _take(self, step: Step, at_ms: int) -> None:
        op = step["op"]
        if op == "fault":
            self.fault = Errors[step["append_error"]]
        elif op != "wait":
            effects = self.coordinator.handle(_REQUESTS[op](self, step), at_ms)
            own = step["id"] if self.era.answers_step_last else None
            for held in self._perform(effects, at_ms, own):
                self._respond(held, at_ms)
            self.touched.add(step["group"])  # The group may have been created by this step.
        self._show_states(at_ms)

    def _perform(self, effects: list[Effect], at_ms: int, own: str | None = None) -> list[Respond]:
        """Perform effects in order; returns the answers to ``own`` instead of giving them."""
        held = []
        for effect in effects:
            if type(effect) is Respond:
                if effect.request_id == own:
                    held.append(effect)
                else:
                    self._respond(effect, at_ms)
            elif type(effect) is Append:
                after = self.coordinator.appended(effect, self._write(effect, at_ms), at_ms)
                held += self._perform(after, at_ms, own)
            else:
                assert type(effect) is Event
                if effect.kind == "STATE":
                    self.touched.add(effect.group_id)
                if self.on_event is not None:
                    self.on_event(at_ms, effect)
        return held

    def _write(self, append: Append, at_ms: int) -> Errors:
        if self.fault is not None:
            error, self.fault = self.fault, None
            return error
        if self.max_record_bytes is not None and _size(append) > self.max_record_bytes:
            return Errors.MESSAGE_TOO_LARGE
        for key, value in append.records:
            self.trace.append(record_event(at_ms, key, value))
        return Errors.NONE

    def _respond(self, effect: Respond, at_ms: int) -> None:
        request_id, response = effect
        op = self.ops[request_id]
        event = response_event(at_ms, request_id, op, response)
        self.trace.append(event)
        if op == "join":
            self.answers["@" + request_id] = (event["member"], event["generation"])

    def _show_states(self, at_ms: int) -> None:
        """Add a state line for each group whose state or generation differs from the last shown."""
        if not self.touched:
            return
        touched = sorted(self.touched, key=self.place.__getitem__)
        self.touched.clear()
        groups = self.coordinator.groups
        for group_id in touched:
            last = self.shown[group_id]
            group = groups.get(group_id)
            now = ("Dead", last[1]) if group is None else (group.state.value, group.generation)
            if now == last:
                continue
            self.shown[group_id] = now
            self.trace.append(state_event(at_ms, group_id, now, group))

    def member(self, text: str) -> str:
        """A member id; a reference stands for the member id in the answer to its step."""
        answer = self.answers.get(text)
        return text if answer is None else answer[0]

    def generation(self, value: int | str) -> int:
        if isinstance(value, int):
            return value
        answer = self.answers.get(value)
        return -1 if answer is None else answer[1]

    def join(self, step: Step) -> Request:
        skips = step.get(_JOIN_V9_SKIP_ASSIGNMENT) or False
        return JoinGroup(
            request_id=step["id"],
            group_id=step["group"],
            member_id=self.member(step["member"]),
            instance_id=step.get("instance_id"),
            client_id=step["client_id"],
            client_host=step["client_host"],
            session_timeout_ms=step["session_timeout_ms"],
            rebalance_timeout_ms=step["rebalance_timeout_ms"],
            protocol_type=step["protocol_type"],
            protocols=tuple([(name, _decoded(metadata)) for name, metadata in step["protocols"]]),
            requires_known_member_id=skips or step.get(_JOIN_V4_KNOWN_MEMBER_ID) or False,
            supports_skipping_assignment=skips,
            reason=step.get("reason"),
        )

    def sync(self, step: Step) -> Request:
        return SyncGroup(
            request_id=step["id"],
            group_id=step["group"],
            member_id=self.member(step["member"]),
            generation=self.generation(step["generation"]),
            instance_id=step.get("instance_id"),
            protocol_type=step.get("protocol_type"),
            protocol_name=step.get("protocol_name"),
            assignments={
                self.member(who): _decoded(data) for who, data in step.get("assignments", ())
            },
        )

    def heartbeat(self, step: Step) -> Request:
        return Heartbeat(
            step["id"],
            step["group"],
            self.member(step["member"]),
            self.generation(step["generation"]),
            step.get("instance_id"),
        )

    def leave(self, step: Step) -> Request:
        members = [Leaver(self.member(who), instance) for who, instance in step["members"]]
        return LeaveGroup(step["id"], step["group"], tuple(members))

    def commit(self, step: Step) -> Request:
        return OffsetCommit(
            request_id=step["id"],
            group_id=step["group"],
            member_id=self.member(step["member"]),
            generation=self.generation(step["generation"]),
            offsets=self.rows(step),
            instance_id=step.get("instance_id"),
            version=step.get("version", _COMMIT_VERSION),
        )

    def fetch(self, step: Step) -> Request:
        asks_all = step["offsets"] is None
        return OffsetFetch(step["id"], step["group"], None if asks_all else self.rows(step))

    def rows(self, step: Step) -> tuple[Json, ...]:
        """Partitions in the order in which the coordinator gets them: by topic from 3.9 on."""
        rows = step["offsets"]
        return tuple(map(tuple, _by_topic(rows) if self.era.takes_rows_by_topic else rows))

    def describe(self, step: Step) -> Request:
        return DescribeGroup(step["id"], step["group"], step.get("version", _DESCRIBE_VERSION))

    def delete(self, step: Step) -> Request:
        return DeleteGroup(step["id"], step["group"])


def _size(append: Append) -> int:
    """The size of keys and values in bytes."""
    return sum([len(key) + len(value or b"") for key, value in append.records])


def _by_topic(rows: Iterable[list[Json]]) -> Iterator[list[Json]]:
    """Rows grouped by topic, topics in order of their first row, as in a request."""
    topics: dict[str, list[list[Json]]] = {}
    for row in rows:
        topics.setdefault(row[0], []).append(row)
    return (row for rows_ in topics.values() for row in rows_)


_REQUESTS: Mapping[str, Callable[[ScenarioPlayer, Step], Request]] = {
    "join": ScenarioPlayer.join,
    "sync": ScenarioPlayer.sync,
    "heartbeat": ScenarioPlayer.heartbeat,
    "leave": ScenarioPlayer.leave,
    "commit": ScenarioPlayer.commit,
    "fetch": ScenarioPlayer.fetch,
    "describe": ScenarioPlayer.describe,
    "delete": ScenarioPlayer.delete,
}
