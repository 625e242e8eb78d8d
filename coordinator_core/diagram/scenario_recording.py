"""Records a scenario while the engine plays it: with its events and delayed joins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.classic.timers import JoinWait
from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.turn import MemberIds
from coordinator_core.diagram.recording import (
    DelayedJoinStatus,
    Entry,
    GroupEvent,
    Line,
    Recording,
    RequestArrived,
    TimerFired,
    TraceEntry,
)
from coordinator_core.diagram.words import seconds
from coordinator_core.protocol.messages import Effect, Event, Respond
from coordinator_core.scenarios.group_types import AllTypesPlayer, has_modern_steps
from coordinator_core.scenarios.scenario import ScenarioPlayer, Step, config_of


def record_scenario(scenario: Line, era: Era, member_ids: MemberIds) -> Recording:
    """Play and record the scenario; raises KeyError, TypeError or ValueError as ``play`` does."""
    player: _RecordingPlayer | _AllTypesRecordingPlayer
    title = title_of(scenario, era)
    if has_modern_steps(scenario):
        title = _group_types_title(scenario, era)
        player = _AllTypesRecordingPlayer(scenario, era, member_ids)
    else:
        player = _RecordingPlayer(scenario, era, member_ids)
    player.play("")
    player.recorder.lines()
    return Recording(
        title=title,
        steps={step["id"]: step for step in scenario["steps"]},
        entries=tuple(player.recorder.entries),
        member_ids=tuple(player.made_ids),
        has_engine_events=True,
        timeouts=timeouts_of(era),
        state_names={state.value: name for state, name in era.state_names.items()},
    )


def title_of(scenario: Line, era: Era) -> str:
    delay_ms = config_of(scenario.get("config", {})).group_initial_rebalance_delay_ms
    delay = f", initial delay {seconds(delay_ms)}" if era.has_initial_delay else ""
    return f"{scenario['name']}, era {era.name}{delay}"


def _group_types_title(scenario: Line, era: Era) -> str:
    settings = scenario.get("config", {}).get("kafka", {})
    values = [f"{name}={value}" for name, value in settings.items()]
    return ", ".join([scenario["name"], f"era {era.name}", *values])


def timeouts_of(era: Era) -> tuple[str, ...]:
    return ("session", "rebalance") if era.has_rebalance_timeout else ("session",)


class _Wait(NamedTuple):
    operation: JoinWait
    awaited: tuple[str, ...]


class JoinWatch:
    """Reports delayed joins of a coordinator: new joins, and joins with fewer missing members than
    before.
    """

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._waits: dict[str, _Wait] = {}

    def look(self, at_ms: int, joining: str | None) -> Iterator[DelayedJoinStatus]:
        """Call after each turn.  ``joining`` is the group of the turn's JoinGroup, if
        that waits.
        """
        for group_id, group in self._coordinator.groups.items():
            joins = self._coordinator.join_waits(group_id)
            if not joins or group.state is not GroupState.PREPARING_REBALANCE:
                self._waits.pop(group_id, None)
                continue
            operation, last = joins[-1], self._waits.get(group_id)
            is_initial = operation.is_initial
            late = [m.member_id for m in group.in_order() if m.awaiting_join is None]
            wait = _Wait(operation, () if is_initial else (*late, *group.pending))
            self._waits[group_id] = wait
            if wait == last and group_id != joining:
                continue
            is_longer = last is not None and last.operation is not operation
            deadline_ms, is_new = operation.deadline_ms, last is None
            yield DelayedJoinStatus(
                at_ms=at_ms,
                group_id=group_id,
                is_new=is_new,
                is_initial=is_initial,
                is_longer=is_longer,
                deadline_ms=deadline_ms,
                awaited=wait.awaited,
            )


class _Recorder:
    """The entries of a player, which tells it of events, steps and effects."""

    def __init__(self, coordinator: Coordinator, trace: list[dict[str, Any]]) -> None:
        self.entries: list[Entry] = []
        self._trace = trace
        self._recorded = 0  # number of lines of the trace that are among the entries
        self._joins = JoinWatch(coordinator)
        self._step: Step | None = None
        self._depth = 0

    def lines(self) -> None:
        self.entries += [TraceEntry(line["at_ms"], line) for line in self._trace[self._recorded :]]
        self._recorded = len(self._trace)

    def event(self, at_ms: int, event: Event) -> None:
        self.lines()
        self.entries.append(GroupEvent(at_ms, event))

    @contextmanager
    def taking(self, step: Step, at_ms: int) -> Iterator[None]:
        if step["op"] != "wait":
            self.entries.append(RequestArrived(at_ms, step["id"]))
        self._step = step
        yield
        self.lines()
        self._step = None

    @contextmanager
    def performing(self, at_ms: int) -> Iterator[None]:
        """Effects may cause further effects."""
        if self._step is None and not self._depth:
            self.entries.append(TimerFired(at_ms))
        self._depth += 1
        yield
        self._depth -= 1
        self.lines()
        if not self._depth:
            self.entries += self._joins.look(at_ms, _waiting_join(self._step, self._trace))


class _RecordingPlayer(ScenarioPlayer):
    def __init__(self, scenario: Line, era: Era, member_ids: MemberIds) -> None:
        super().__init__(scenario, era, member_ids, self._record_event)
        self.recorder = _Recorder(self.coordinator, self.trace)

    def _record_event(self, at_ms: int, event: Event) -> None:
        self.recorder.event(at_ms, event)

    def _take(self, step: Step, at_ms: int) -> None:
        with self.recorder.taking(step, at_ms):
            super()._take(step, at_ms)

    def _perform(self, effects: list[Effect], at_ms: int, own: str | None = None) -> list[Respond]:
        with self.recorder.performing(at_ms):
            return super()._perform(effects, at_ms, own)


class _AllTypesRecordingPlayer(AllTypesPlayer):
    def __init__(self, scenario: Line, era: Era, member_ids: MemberIds) -> None:
        super().__init__(scenario, era, member_ids, self._record_event)
        self.recorder = _Recorder(self.coordinator, self.trace)

    def _record_event(self, at_ms: int, event: Event) -> None:
        self.recorder.event(at_ms, event)

    def _take(self, step: Step, at_ms: int) -> None:
        with self.recorder.taking(step, at_ms):
            super()._take(step, at_ms)

    def _settle(self, at_ms: int) -> None:
        super()._settle(at_ms)
        self.recorder.lines()

    def _perform(self, effects: list[Effect], at_ms: int) -> None:
        with self.recorder.performing(at_ms):
            super()._perform(effects, at_ms)


def _waiting_join(step: Step | None, trace: list[dict[str, Any]]) -> str | None:
    """The group of the step if it is a JoinGroup that has no answer yet."""
    if step is None or step["op"] != "join":
        return None
    is_answered = bool(trace) and trace[-1].get("to") == step["id"]
    return None if is_answered else str(step["group"])
