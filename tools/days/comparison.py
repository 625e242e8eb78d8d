"""Shared by the comparisons of runs by date with one run: run, compare, report."""

from __future__ import annotations

import io
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from jobs.configuration.config import Config
from jobs.nightly import NightlyOptions, nightly
from jobs.nightly_run.pipeline import Progress


def run_seconds(options: NightlyOptions, config: Config) -> float:
    """Run nightly without progress output; returns its wall-clock seconds."""
    began = time.monotonic()
    nightly(options, config, Progress(io.StringIO()))
    return time.monotonic() - began


def compared(
    expected: Mapping[str, Counter[Any]], runs: Mapping[str, Mapping[str, Counter[Any]]]
) -> list[str]:
    """Print one line per table; returns some of the differing rows of each."""
    print("| table | rows in one run | " + " | ".join(f"{name}: differ" for name in runs) + " |")
    print("|---|---:|" + "---:|" * len(runs))
    differing = []
    for table, rows in expected.items():
        cells = []
        for name, tables in runs.items():
            missing, extra = rows - tables[table], tables[table] - rows
            cells.append(str(missing.total() + extra.total()))
            signs = (("-", missing), ("+", extra))
            differing += [f"{name} {table} {sign} {row}" for sign, of in signs for row in [*of][:2]]
        print(f"| {table} | {rows.total()} | " + " | ".join(cells) + " |")
    return differing


def end(differing: Iterable[str]) -> NoReturn:
    """Print the differing rows and the result; exit 1 if there are any."""
    lines = [*differing]
    print(*lines, "DIFFERENT" if lines else "the same", sep="\n")
    sys.exit(bool(lines))
