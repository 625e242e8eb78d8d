"""Changes one cell of a grid at a time, and reports the changes that no scenario detects.

    python tools/mutate_grid.py ERA SCENARIOS TRACES [SCENARIOS TRACES]...

SCENARIOS and TRACES are folders: scenarios, and the traces of Kafka's own classes of that version.
A cell is replaced by each other reaction of its row, and by none.  The report lists the mutants
that survive, whether log lines would show them, and the cells that no scenario reaches.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from coordinator_core.coordinator.classic.automaton import never
from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.rebalance import nothing
from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.era import Era, Reaction
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.messages import Event
from coordinator_core.scenarios.scenario import given_ids, play

Json = Any
Trace = list[dict[str, Json]]


class Mutant(NamedTuple):
    input_: Input
    state: GroupState
    was: Reaction
    becomes: Reaction

    def __str__(self) -> str:
        cell = f"{self.input_.name} in {self.state.name}"
        return f"{cell}: {self.was.__name__} -> {self.becomes.__name__}"


class KafkaTrace(NamedTuple):
    """A scenario and the trace of Kafka's own classes."""

    scenario: Mapping[str, Json]
    trace: Trace


def mutants(era: Era) -> Iterator[Mutant]:
    """Every change of a reachable cell to another reaction of its row, or to none."""
    for input_, row in era.grid.items():
        others = dict.fromkeys([nothing, *row.values()])
        for state, was in row.items():
            if was is never:
                continue
            for becomes in others:
                if becomes not in (was, never):
                    yield Mutant(input_, state, was, becomes)


def mutated(era: Era, mutant: Mutant) -> Era:
    row = {**era.grid[mutant.input_], mutant.state: mutant.becomes}
    return replace(era, grid={**era.grid, mutant.input_: row})


def reached(era: Era, played: Iterable[KafkaTrace]) -> set[tuple[Input, GroupState]]:
    """The cells that the scenarios reach."""
    cells = set()

    def recording(input_: Input, state: GroupState, reaction: Reaction) -> Reaction:
        def recorded(turn: Turn, group: ClassicGroup, subject: Any) -> None:
            cells.add((input_, state))
            reaction(turn, group, subject)

        return recorded

    grid = {
        input_: {state: recording(input_, state, reaction) for state, reaction in row.items()}
        for input_, row in era.grid.items()
    }
    for each in played:
        _play(replace(era, grid=grid), each)
    return cells


def is_detected(era: Era, played: Iterable[KafkaTrace]) -> bool:
    """Returns whether any scenario has another trace than Kafka's, or raises."""
    return any(_differs(era, each) for each in played)


def _differs(era: Era, played: KafkaTrace) -> bool:
    try:
        trace = _play(era, played)
    except Exception:  # A mutant may raise any exception.
        return True
    return comparable(trace) != comparable(played.trace)


def shows_in_log(era: Era, mutant: Era, played: Iterable[KafkaTrace]) -> bool:
    """Returns whether a mutant that no trace detects would print other log lines."""
    return any(_events(era, each) != _events(mutant, each) for each in played)


def _events(era: Era, played: KafkaTrace) -> list[tuple[int, Event]]:
    events: list[tuple[int, Event]] = []
    _play(era, played, lambda at_ms, event: events.append((at_ms, event)))
    return events


def _play(
    era: Era, played: KafkaTrace, on_event: Callable[[int, Event], None] | None = None
) -> Trace:
    return play(played.scenario, era, given_ids(played.trace[0]["member_ids"]), "", on_event)


def comparable(trace: Trace) -> Trace:
    """The trace without its start line, and with the partitions of each answer sorted."""
    events: Trace = json.loads(json.dumps(trace[1:]))
    for event in events:
        event.get("partitions", []).sort()
    return events


def read(scenarios: Path, traces: Path) -> list[KafkaTrace]:
    """Scenarios and the traces of the same names."""
    traces_read = []
    for path in scenarios.rglob("*.json"):
        name = path.relative_to(scenarios).with_suffix(".jsonl")
        lines = (traces / name).read_text(encoding="utf-8").splitlines()
        scenario = json.loads(path.read_text(encoding="utf-8"))
        traces_read.append(KafkaTrace(scenario, [json.loads(line) for line in lines]))
    return traces_read


def main(args: list[str]) -> int:
    if len(args) < 3 or not len(args) % 2 or args[0] not in ERAS:
        print(__doc__, file=sys.stderr)
        return 2
    era = ERAS[args[0]]
    folders = list(map(Path, args[1:]))
    played = [
        each for pair in zip(folders[::2], folders[1::2], strict=True) for each in read(*pair)
    ]
    played.sort(key=lambda each: len(each.trace))
    if is_detected(era, played):
        print("The unchanged grid already differs from the traces.", file=sys.stderr)
        return 2
    for line in report(era, played):
        print(line, flush=True)
    return 0


def report(era: Era, played: list[KafkaTrace]) -> Iterator[str]:
    in_reach = reached(era, played)
    count = survivors = 0
    for mutant in mutants(era):
        if (mutant.input_, mutant.state) not in in_reach:
            continue
        count += 1
        changed = mutated(era, mutant)
        if not is_detected(changed, played):
            survivors += 1
            where = "in log lines only" if shows_in_log(era, changed, played) else "nowhere"
            yield f"shows {where}: {mutant}"
    yield f"{survivors} of {count} mutants survived"
    for input_, row in era.grid.items():
        states = [s for s, cell in row.items() if cell is not never and (input_, s) not in in_reach]
        if states:
            yield f"not reached: {input_.name} in {', '.join(state.name for state in states)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
