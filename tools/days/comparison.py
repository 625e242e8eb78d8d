"""What the comparisons of nights with one run have in common: run, compare, say."""

from __future__ import annotations

import io
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from jobs.command_line.config import Config
from jobs.nightly import NightlyOptions, nightly
from jobs.nightly_run.pipeline import Progress


def worked_out(request: NightlyOptions, config: Config) -> float:
    """The run, without a word; its seconds by the clock."""
    began = time.monotonic()
    nightly(request, config, Progress(io.StringIO()))
    return time.monotonic() - began


def compared(
    expected: Mapping[str, Counter[Any]], found: Mapping[str, Mapping[str, Counter[Any]]]
) -> list[str]:
    """Prints a line a table; what differs, some of each."""
    print("| table | rows in one run | " + " | ".join(f"{name}: differ" for name in found) + " |")
    print("|---|---:|" + "---:|" * len(found))
    differing = []
    for table, rows in expected.items():
        cells = []
        for name, tables in found.items():
            missing, more = rows - tables[table], tables[table] - rows
            cells.append(str(missing.total() + more.total()))
            signs = (("-", missing), ("+", more))
            differing += [f"{name} {table} {sign} {row}" for sign, of in signs for row in [*of][:2]]
        print(f"| {table} | {rows.total()} | " + " | ".join(cells) + " |")
    return differing


def end(differing: Iterable[str]) -> NoReturn:
    """Says what differs, and whether anything does; exit 1 if so."""
    lines = [*differing]
    print(*lines, "DIFFERENT" if lines else "the same", sep="\n")
    sys.exit(bool(lines))
