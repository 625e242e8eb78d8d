"""Measures the engine on groups of all types, beside Kafka's own classes in the same run.

    python -m bench.engine.group_types [--era 4.4] [--scenarios 4000] [--folder DIR] [--wheel FILE]

Whole commands are timed from JSON files to trace files, including the start of Python and of the
JVM.  The scenarios are random ones of consumer, share and streams groups in turn, or those of
``--folder``.  The compiled engine is that of the wheel, which is built first.
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from bench.engine.__main__ import ROOT, Engine, commands, print_head, unpacked
from tools.differential.__main__ import GROUP_TYPES
from tools.differential.kafka import ALL_TYPES, Scenario


def main(
    era: str = "4.4",
    seed: int = 1,
    scenarios: int = 4000,
    folder: Annotated[Path | None, typer.Option(help="Scenarios instead of random ones.")] = None,
    wheel: Annotated[Path | None, typer.Option(help="A compiled wheel; else one is built.")] = None,
) -> None:
    played = _randoms(seed, scenarios) if folder is None else _of_folder(folder)
    print_head(era)
    with tempfile.TemporaryDirectory(prefix="bench-engine-") as temporary:
        compiled = Engine("compiled", unpacked(wheel, Path(temporary)))
        engines = [Engine("pure", ROOT), compiled]
        what = f"{len(played)} random, all types, whole command"
        print(commands(what, played, era, engines, era + ALL_TYPES))


def _randoms(seed: int, count: int) -> list[Scenario]:
    makers = list(GROUP_TYPES.items())
    return [
        make(random.Random(f"{seed}/{number}"), f"{group_type}-{number}")
        for number in range(count)
        for group_type, make in [makers[number % len(makers)]]
    ]


def _of_folder(folder: Path) -> list[Scenario]:
    return [json.loads(file.read_text("utf-8")) for file in sorted(folder.glob("*.json"))]


if __name__ == "__main__":
    typer.run(main)
