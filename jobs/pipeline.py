"""The jobs in their order, and running them one after the other with progress on stderr."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterable
from typing import TextIO

from jobs.tables import Lake

# Everything after ingest: each reads what the ones before it wrote.
JOBS = [
    "group_metadata",
    "committed_offsets",
    "group_events",
    "timeline",
    "generations",
    "generation_members",
    "assignments",
    "churn",
    "rebalance_latency",
    "rebalance_causes",
]


def run_job(name: str, lake: Lake) -> None:
    """Run ``jobs.<name>``; its module reads and writes the lake's tables."""
    importlib.import_module(f"jobs.{name}").run(lake)


class Progress:
    """A line for each step on stderr, with the time it took."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._started = time.monotonic()

    def step(self, name: str, act: Callable[[], None]) -> None:
        if self._out.isatty():
            self._out.write(f"{name} ...")
            self._out.flush()
        began = time.monotonic()
        act()
        took = time.monotonic() - began
        back = "\r" if self._out.isatty() else ""
        self._out.write(f"{back}{name:<20} {took:6.1f} s\n")
        self._out.flush()

    def total(self) -> None:
        self._out.write(f"{'total':<20} {time.monotonic() - self._started:6.1f} s\n")


def run_all(lake: Lake, progress: Progress, jobs: Iterable[str] = JOBS) -> None:
    for name in jobs:
        progress.step(name, lambda name=name: run_job(name, lake))  # type: ignore[misc]
