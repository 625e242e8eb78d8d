"""Plays scenarios, and prints the seconds by the clock and of CPU time as a JSON array.

    python -m bench.engine.player ERA FILE [--json]

FILE: a JSON array of [scenario as text, member ids or null].  ``--json``: from text to text.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.scenarios.scenario import derived_ids, given_ids, play


def main(era: str, file: Path, as_json: bool = typer.Option(False, "--json/--no-json")) -> None:
    played = json.loads(file.read_text(encoding="utf-8"))
    if not as_json:
        played = [(json.loads(text), ids) for text, ids in played]
    clock_s, cpu_s = time.perf_counter(), time.process_time()
    for scenario, ids in played:
        if as_json:
            "".join(json.dumps(event) + "\n" for event in trace(json.loads(scenario), ids, era))
        else:
            trace(scenario, ids, era)
    print(json.dumps([time.perf_counter() - clock_s, time.process_time() - cpu_s]))


def trace(scenario: Any, ids: list[str] | None, era: str) -> Iterable[Any]:
    member_ids = derived_ids() if ids is None else given_ids(ids)
    return play(scenario, ERAS[era], member_ids, "engine")


if __name__ == "__main__":
    typer.run(main)
