"""``regroup scenario``: plays scenario files with the coordinator model, or draws them.

reads   scenarios (one JSON file each) and existing traces (for member ids, or to draw them)
writes  one trace (JSON Lines) per scenario, to a folder or standard output; or a diagram
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.eras import ERAS, of_scala_2_12
from coordinator_core.diagram import (
    as_mermaid,
    as_text,
    draw,
    record_consumers,
    record_scenario,
    record_trace,
)
from coordinator_core.diagram.recording import Recording
from coordinator_core.scenarios.group_types import play_scenario
from coordinator_core.scenarios.scenario import Trace, derived_ids, given_ids
from jobs.console.errors import UsageError

SCALA_2_12 = "kafka_2.12"  # value of an attribute of a trace's runner

DIAGRAMS = {"text": as_text, "mermaid": as_mermaid}

_compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def run(era: str, ids_from: str | None, out: str | None, paths: list[str]) -> int:
    """Play every scenario under the paths in the era; returns the exit code.

    ``ids_from`` is a trace, or a folder of traces named as the scenarios, whose start lines list
    the member ids; without it, ids are derived and always the same.  ``out`` is a folder for the
    traces, NAME.jsonl; without it they go to standard output.  Raises UsageError with what to
    change.
    """
    played_era = _era(era)
    folder = None if out is None else Path(out)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    for path in _files(paths):
        name, trace = _played(path, played_era, ids_from)
        text = "".join([_compact(event) + "\n" for event in trace])
        if folder is None:
            sys.stdout.write(text)
        else:
            (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return 0


def diagram(path: str, era: str | None, trace: str | None, kind: str) -> str:
    """The sequence diagram of a scenario or of consumers in an era, or of a trace, as ``kind``.

    ``path`` is a scenario, or a trace by itself.  ``trace`` is an existing trace of the scenario.
    Raises UsageError with what to change.
    """
    if kind not in DIAGRAMS:
        raise UsageError(f"--as {kind}: not one of {', '.join(DIAGRAMS)}")
    file = next(_files([path]))
    if file.suffix == ".jsonl":
        trace, scenario = str(file), None
    else:
        scenario = _read(file)
    if trace is None and era is None:
        raise UsageError(
            f"{path}: set --era to run the scenario, or --trace to draw an existing trace"
        )
    try:
        return DIAGRAMS[kind](draw(_recording(scenario, era, trace)))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{trace or path}: cannot be drawn: {error!r}") from error


def _recording(scenario: Any, era: str | None, trace: str | None) -> Recording:
    if trace is not None:
        return record_trace(_lines(Path(trace)), scenario)
    assert era is not None
    if "consumers" in scenario:
        return record_consumers(scenario, _era(era), derived_ids())
    return record_scenario(scenario, _era(era), derived_ids())


def _lines(path: Path) -> list[Any]:
    try:
        with path.open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
    except OSError as error:
        raise UsageError(f"{path}: no such trace ({error.strerror})") from error


def _era(name: str) -> Era:
    if name not in ERAS:
        raise UsageError(f"--era {name}: not one of {', '.join(ERAS)}")
    return ERAS[name]


def _files(paths: list[str]) -> Iterator[Path]:
    """The named files, and all *.json of named folders in the order of their names."""
    for each in paths:
        path = Path(each)
        if path.is_dir():
            yield from sorted(path.glob("*.json"))
        elif path.is_file():
            yield path
        else:
            raise UsageError(f"{each}: no such scenario file or folder")


def _played(path: Path, era: Era, ids_from: str | None) -> tuple[str, Trace]:
    scenario = _read(path)
    try:
        name, member_ids = scenario["name"], derived_ids()
        if ids_from is not None:
            start = _start_of(name, Path(ids_from))
            era, member_ids = _as_built(era, start), given_ids(start["member_ids"])
        runner = f"regroup coordinator_core, era {era.name}"
        return name, play_scenario(scenario, era, member_ids, runner)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: invalid scenario: {error!r}") from error


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise UsageError(f"{path}: not a JSON file: {error}") from error


def _start_of(name: str, source: Path) -> Any:
    """The start line of the trace that lists the member ids."""
    trace = source / f"{name}.jsonl" if source.is_dir() else source
    try:
        with trace.open("rb") as lines:
            start = json.loads(lines.readline())
        if isinstance(start["member_ids"], list):
            return start
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--ids-from {trace}: no start line with member_ids ({error})") from error
    raise UsageError(f"--ids-from {trace}: no start line with member_ids")


def _as_built(era: Era, start: Any) -> Era:
    """The era with the hash maps of the Scala version that the trace's broker was built with."""
    return of_scala_2_12(era) if SCALA_2_12 in start["runner"] else era
