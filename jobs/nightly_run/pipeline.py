"""The jobs in their order, run as soon as what they read is written, with progress on stderr."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, TextIO

from jobs.lake.tables import Lake

if TYPE_CHECKING:
    from jobs.console.live import LiveSteps

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
AGAIN_S = 0.2


def job(name: str) -> ModuleType:
    """``jobs.<name>``: READS, the tables it needs; run(lake), which writes its own."""
    return importlib.import_module(f"jobs.{name}")


@dataclass
class Step:
    """A part of a run: when it began, how long it took, and in one line why it failed."""

    name: str
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    seconds: float = 0.0
    error: str | None = None

    @contextmanager
    def timed(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        except BaseException as error:
            first = next((line for line in str(error).splitlines() if line.strip()), "")
            self.error = f"{type(error).__name__}: {first.strip()}"
            raise
        finally:
            self.seconds = time.monotonic() - began


class Progress:
    """A line on stderr for each step that is done, with the time it took; on a terminal also what
    runs just now."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.steps: list[Step] = []
        self._out = out or sys.stderr
        self._live = _live(self._out) if self._out.isatty() else None
        self._started = time.monotonic()
        self._lock = threading.Lock()

    def step(self, name: str, act: Callable[[], None]) -> None:
        step = Step(name)
        self.steps.append(step)
        with self._live.shown(name) if self._live else nullcontext(), step.timed():
            act()
        self._say(name, step.seconds)

    def total(self) -> None:
        self._say("total", time.monotonic() - self._started)

    def say(self, text: str) -> None:
        if self._live:
            self._live.say(text)
            return
        with self._lock:
            self._out.write(f"{text}\n")
            self._out.flush()

    def _say(self, name: str, seconds: float) -> None:
        self.say(f"{name:<20} {seconds:6.1f} s")


def _live(terminal: TextIO) -> LiveSteps:
    from jobs.console.live import LiveSteps  # of no use to most commands, and slow to import

    return LiveSteps(terminal)


def run_all(lake: Lake, progress: Progress, jobs: Iterable[str] = JOBS) -> None:
    """Each job once everything it reads is there.  The first failure ends the run."""
    with lake.turn():
        _run_all(lake, progress, jobs)


def _run_all(lake: Lake, progress: Progress, jobs: Iterable[str]) -> None:
    waiting = list(jobs)
    running: dict[Future[None], str] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            while waiting or running:
                unwritten = {*waiting, *running.values()}
                for name in [n for n in waiting if unwritten.isdisjoint(job(n).READS)]:
                    waiting.remove(name)
                    act = partial(job(name).run, lake)
                    running[pool.submit(progress.step, name, act)] = name
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    del running[future]
                    future.result()
        except KeyboardInterrupt:
            # A job that was still being planned when Spark's were cancelled comes with one more.
            while wait(running, timeout=AGAIN_S).not_done:
                lake.spark.sparkContext.cancelAllJobs()
            raise
