"""A scenario played in an era, with all that a diagram shows: what is decided, and what waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.classic.timers import JoinWait
from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.turn import MemberIds
from coordinator_core.diagram.entries import (
    Asked,
    Entry,
    Fired,
    Line,
    Said,
    Story,
    Told,
    Waits,
)
from coordinator_core.diagram.words import seconds
from coordinator_core.protocol.messages import Effect, Event, Respond
from coordinator_core.scenarios.scenario import ScenarioPlayer, Step, config_of


def watch(scenario: Line, era: Era, member_ids: MemberIds) -> Story:
    """Play the scenario and tell all of it; KeyError, TypeError, ValueError as ``play``."""
    watcher = _Watcher(scenario, era, member_ids)
    watcher.play("")
    watcher.note_lines()
    return Story(
        title_of(scenario, era),
        {step["id"]: step for step in scenario["steps"]},
        tuple(watcher.entries),
        tuple(watcher.made_ids),
        True,
        timeouts_of(era),
        {state.value: name for state, name in era.state_names.items()},
    )


def title_of(scenario: Line, era: Era) -> str:
    delay_ms = config_of(scenario.get("config", {})).group_initial_rebalance_delay_ms
    delay = f", initial delay {seconds(delay_ms)}" if era.has_initial_delay else ""
    return f"{scenario['name']}, era {era.name}{delay}"


def timeouts_of(era: Era) -> tuple[str, ...]:
    return ("session", "rebalance") if era.has_rebalance_timeout else ("session",)


class _Wait(NamedTuple):
    operation: JoinWait
    awaited: tuple[str, ...]


class JoinWatch:
    """The delayed joins of a coordinator, as they are made, and as fewer members are missing."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._waits: dict[str, _Wait] = {}

    def look(self, at_ms: int, joining: str | None) -> Iterator[Waits]:
        """After a turn.  ``joining``: the group of its JoinGroup, if that waits now."""
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
            yield Waits(at_ms, group_id, is_new, is_initial, is_longer, deadline_ms, wait.awaited)


class _Watcher(ScenarioPlayer):
    def __init__(self, scenario: Line, era: Era, member_ids: MemberIds) -> None:
        super().__init__(scenario, era, member_ids, self._hear)
        self.entries: list[Entry] = []
        self.noted = 0  # lines of the trace that are among the entries
        self.joins = JoinWatch(self.coordinator)
        self.step: Step | None = None
        self.depth = 0

    def note_lines(self) -> None:
        self.entries += [Said(line["at_ms"], line) for line in self.trace[self.noted :]]
        self.noted = len(self.trace)

    def _hear(self, at_ms: int, event: Event) -> None:
        self.note_lines()
        self.entries.append(Told(at_ms, event))

    def _take(self, step: Step, at_ms: int) -> None:
        if step["op"] != "wait":
            self.entries.append(Asked(at_ms, step["id"]))
        self.step = step
        super()._take(step, at_ms)
        self.note_lines()
        self.step = None

    def _perform(self, effects: list[Effect], at_ms: int, own: str | None = None) -> list[Respond]:
        if self.step is None and not self.depth:
            self.entries.append(Fired(at_ms))
        self.depth += 1
        held = super()._perform(effects, at_ms, own)
        self.depth -= 1
        self.note_lines()
        if not self.depth:
            self.entries += self.joins.look(at_ms, self._joining())
        return held

    def _joining(self) -> str | None:
        step = self.step
        if step is None or step["op"] != "join":
            return None
        is_answered = bool(self.trace) and self.trace[-1].get("to") == step["id"]
        return None if is_answered else step["group"]
