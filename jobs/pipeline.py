"""The jobs in their order, run as soon as what they read is written, with progress on stderr."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import ModuleType
from typing import TextIO

from jobs.tables import Lake

# Everything after ingest.  A job writes the table of its name and says in READS what it reads.
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
    "group_days",
    "assign_partitions",
]
# Planning and committing a job keeps one driver thread busy, whatever the cluster: two at a time.
AT_ONCE = 2


def job(name: str) -> ModuleType:
    """``jobs.<name>``: READS, the tables it needs; run(lake), which writes its own."""
    return importlib.import_module(f"jobs.{name}")


class Progress:
    """A line on stderr for each step that is done, with the time it took."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._started = time.monotonic()
        self._lock = threading.Lock()

    def step(self, name: str, act: Callable[[], None]) -> None:
        began = time.monotonic()
        act()
        self._say(name, time.monotonic() - began)

    def total(self) -> None:
        self._say("total", time.monotonic() - self._started)

    def _say(self, name: str, seconds: float) -> None:
        with self._lock:
            self._out.write(f"{name:<20} {seconds:6.1f} s\n")
            self._out.flush()


def run_all(lake: Lake, progress: Progress, jobs: Iterable[str] = JOBS) -> None:
    """Each job once everything it reads is there.  The first failure ends the run.

    What a date's rows are rests on the dates before: a cluster's runs take turns.
    """
    with lake.alone("derive"):
        _run_all(lake, progress, jobs)


def _run_all(lake: Lake, progress: Progress, jobs: Iterable[str]) -> None:
    waiting = list(jobs)
    running: dict[Future[None], str] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while waiting or running:
            unwritten = {*waiting, *running.values()}
            for name in [n for n in waiting if unwritten.isdisjoint(job(n).READS)]:
                waiting.remove(name)
                running[pool.submit(progress.step, name, lambda n=name: job(n).run(lake))] = name
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                del running[future]
                future.result()
