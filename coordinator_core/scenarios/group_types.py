"""Plays a scenario of groups of all types with the engine.

Besides the steps of classic groups, it has heartbeats and descriptions of consumer, share and
streams groups, changes of topics and of a group's configuration, and the reload of the coordinator
from its records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig, Era
from coordinator_core.coordinator.group_types import MODERN_TYPES
from coordinator_core.coordinator.modern.settings import modern_settings
from coordinator_core.coordinator.turn import MemberIds
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Append,
    CommitResponse,
    Effect,
    Event,
    FetchResponse,
    Respond,
)
from coordinator_core.scenarios.references import References
from coordinator_core.scenarios.scenario import config_of, play
from coordinator_core.scenarios.step_requests import StepRequests
from coordinator_core.scenarios.topics import ScenarioTopics
from coordinator_core.scenarios.trace_events import modern_response_event, record_event

Json = Any
Step = Mapping[str, Json]
Trace = list[dict[str, Json]]

OPS = frozenset(
    {
        "consumer_heartbeat",
        "share_heartbeat",
        "streams_heartbeat",
        "consumer_describe",
        "share_describe",
        "streams_describe",
        "list",
        "metadata",
        "group_config",
        "reload",
    }
)
"""The steps that only scenarios of all group types have."""


def has_modern_steps(scenario: Mapping[str, Json]) -> bool:
    return any(step["op"] in OPS for step in scenario["steps"])


class AllTypesPlayer:
    """Plays one scenario once."""

    def __init__(
        self,
        scenario: Mapping[str, Json],
        era: Era,
        member_ids: MemberIds,
        on_event: Callable[[int, Event], None] | None = None,
    ) -> None:
        self.on_event = on_event
        self.steps = scenario["steps"]
        self.era = era
        self.made_ids: list[str] = []
        self.config = _config(scenario.get("config", {}))
        self.coordinator = Coordinator(self.config, era, self._recording_ids(member_ids))
        self.trace: Trace = []
        self.by_id: dict[str, Step] = {step["id"]: step for step in self.steps}
        self.topics = ScenarioTopics()
        self.references = References(self.topics.names)
        self.requests = StepRequests(era, self.references, self.topics)
        self.fault: Errors | None = None
        self.written: list[tuple[bytes, bytes | None]] = []
        self.shown: dict[str, dict[str, Json]] = {}
        self.groups = list(dict.fromkeys(step["group"] for step in self.steps if "group" in step))

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
            self._settle(at_ms)
            self._advance(at_ms)
        start = {"event": "start", "runner": runner, "member_ids": self.made_ids}
        return [start, *self.trace]

    def _advance(self, to_ms: int) -> None:
        """Fire timers up to and including this time, each with its consequences."""
        while True:
            due_ms = self.coordinator.next_deadline_ms()
            if due_ms is None or due_ms > to_ms:
                return
            self._perform(self.coordinator.fire_next(to_ms) or [], due_ms)
            self._settle(due_ms)

    def _settle(self, at_ms: int) -> None:
        while (effects := self.coordinator.run_background(at_ms)) is not None:
            self._perform(effects, at_ms)
        for group_id in self.groups:
            self._show_state(group_id, at_ms)

    def _take(self, step: Step, at_ms: int) -> None:
        op = step["op"]
        if op == "fault":
            self.fault = Errors[step["append_error"]]
        elif op == "metadata":
            deleted = step.get("deleted") or []
            topics = self.topics.change(step.get("topics") or [], deleted)
            self._perform(self.coordinator.change_topics(topics, deleted, at_ms), at_ms)
        elif op == "group_config":
            values = {name: str(value) for name, value in step["configs"].items()}
            values = {**self.era.group_config_defaults, **values}
            self.coordinator.configure_group(step["group"], values)
        elif op == "reload":
            self._perform(self.coordinator.unload(at_ms), at_ms)
            self._perform(self.coordinator.load(self.written, at_ms), at_ms)
        elif op != "wait":
            request = self.requests.request_of(step)
            if request is not None:
                self._perform(self.coordinator.handle(request, at_ms), at_ms)
            else:  # The broker responds without the coordinator.
                self.respond(Respond(step["id"], CommitResponse(())), at_ms)

    def _perform(self, effects: list[Effect], at_ms: int) -> None:
        for effect in effects:
            if type(effect) is Respond:
                self.respond(effect, at_ms)
            elif type(effect) is Append:
                error = self._write(effect, at_ms)
                self._perform(self.coordinator.appended(effect, error, at_ms), at_ms)
            elif self.on_event is not None:
                assert type(effect) is Event
                self.on_event(at_ms, effect)

    def _write(self, append: Append, at_ms: int) -> Errors:
        if self.fault is not None:
            error, self.fault = self.fault, None
            return error
        for key, value in append.records:
            self.trace.append(record_event(at_ms, key, value))
        self.written += append.records
        return Errors.NONE

    # -- answers

    def respond(self, effect: Respond, at_ms: int) -> None:
        request_id, response = effect
        step = self.by_id[request_id]
        if isinstance(response, FetchResponse) and response.error is not Errors.NONE:
            # Traces lack the response to a refused fetch, because their runner lost the response.
            return
        self.references.keep(step, response)
        if isinstance(response, CommitResponse):
            response = self._with_unknown(request_id, response)
        event = modern_response_event(at_ms, request_id, step["op"], response, self.topics.names)
        self.trace.append(event)

    def _with_unknown(self, request_id: str, response: CommitResponse) -> CommitResponse:
        error = Errors.UNKNOWN_TOPIC_OR_PARTITION
        rows = tuple([(row[0], row[1], error) for row in self.requests.unknown.get(request_id, ())])
        return CommitResponse(rows + response.partitions)

    # -- states

    def _show_state(self, group_id: str, at_ms: int) -> None:
        view, last = self._view(group_id), self.shown.get(group_id)
        if view is None:
            if last is None or last["state"] == "Dead":
                return
            view = {"type": last["type"], "state": "Dead"}
        if last is not None and _is_same(view, last):
            return
        self.shown[group_id] = view
        self.trace.append({"at_ms": at_ms, "event": "state", "group": group_id, **view})

    def _view(self, group_id: str) -> dict[str, Json] | None:
        modern = self.coordinator.modern_groups.get(group_id)
        if modern is not None:
            return {
                "type": modern.group_type.name,
                "state": modern.state_name(),
                "epoch": modern.epoch,
                "assignment_epoch": modern.assignment_epoch,
                "members": [list(row) for row in modern.member_rows()],
            }
        group = self.coordinator.groups.get(group_id)
        if group is None:
            return None
        return {
            "type": group.group_type.name,
            "state": group.state.value,
            "generation": group.generation,
            "leader": group.leader,
            "members": [member.member_id for member in group.in_order()],
        }


def _config(values: Mapping[str, Json]) -> CoordinatorConfig:
    kafka = values.get("kafka") or {}
    plain = {
        name.replace(".", "_"): int(value)
        for name, value in kafka.items()
        if not name.startswith(tuple(each.broker_prefix for each in MODERN_TYPES))
    }
    return replace(config_of({**values, **plain}), modern=modern_settings(kafka))


def _is_same(view: Mapping[str, Json], last: Mapping[str, Json]) -> bool:
    """Classic groups are compared by state and generation only."""
    if "generation" in view and "generation" in last:
        names = "state", "generation"
        return all(view[each] == last[each] for each in names)
    return view == last


def play_scenario(
    scenario: Mapping[str, Json], era: Era, member_ids: MemberIds, runner: str
) -> Trace:
    """Play a scenario of either format; returns its trace in the same format, start line first."""
    if has_modern_steps(scenario):
        return AllTypesPlayer(scenario, era, member_ids).play(runner)
    return play(scenario, era, member_ids, runner)
