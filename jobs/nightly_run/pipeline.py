"""Runs the jobs in dependency order, two at a time, and reports progress on stderr."""

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

from jobs import __name__ as PACKAGE
from jobs.console.secrets import without_secrets
from jobs.lake.keys import EVENT_TABLES

if TYPE_CHECKING:
    from jobs.console.running_steps import RunningSteps
    from jobs.lake.scope import RunScope

# All jobs after ingest.  A job writes the table of its name.  Its READS are the tables that it
# reads; its optional AFTER are other jobs that it waits for.
JOBS = [
    "group_metadata",
    "group_records",
    "committed_offsets",
    "group_events",
    "timeline",
    "generations",
    "group_epochs",
    "generation_members",
    "topic_ids",
    "assignments",
    "member_epochs",
    "churn",
    "rebalance_latency",
    "rebalance_causes",
    "ownership_gaps",
    "handovers",
    "handover_costs",
    "unserved_times",
    "episodes",
    "group_days",
    "assign_partitions",
    "broker_episodes",
    "client_evidence",
    "findings",
]
# Number of concurrent jobs: planning and committing keep one driver thread per job busy, on any
# cluster.
AT_ONCE = 2
CANCEL_INTERVAL_S = 0.1


def job(name: str) -> ModuleType:
    """Module <name> of jobs with READS, the tables it reads, and run(scope)."""
    return importlib.import_module(f"{PACKAGE}.{name}")


@dataclass
class RunStep:
    """One step of a run: its begin, its duration, and its error in one line if it failed."""

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
            self.error = without_secrets(f"{type(error).__name__}: {first.strip()}")
            raise
        finally:
            self.seconds = time.monotonic() - began


class Progress:
    """Prints one line on stderr per finished step, with its duration; on a terminal also shows the
    running steps.  ``messages`` are all other lines; ``seconds`` is the duration of the whole run.
    """

    def __init__(self, out: TextIO | None = None) -> None:
        self.steps: list[RunStep] = []
        self.messages: list[str] = []
        self.seconds = 0.0
        self._out = out or sys.stderr
        self._live = _live(self._out) if self._out.isatty() else None
        self._lock = threading.Lock()

    def step(self, name: str, act: Callable[[], None]) -> None:
        step = RunStep(name)
        self.steps.append(step)
        with self._live.shown(name) if self._live else nullcontext(), step.timed():
            act()
        self._print_duration(name, step.seconds)

    def total(self, seconds: float) -> None:
        self.seconds = seconds
        self._print_duration("total", seconds)

    def say(self, text: str) -> None:
        self.messages.append(text)
        self._print(text)

    def _print(self, text: str) -> None:
        if self._live:
            self._live.say(text)
            return
        with self._lock:
            self._out.write(f"{text}\n")
            self._out.flush()

    def _print_duration(self, name: str, seconds: float) -> None:
        self._print(f"{name:<20} {seconds:6.1f} s")


def _live(terminal: TextIO) -> RunningSteps:
    # Import here, because the import is slow and few commands need it.
    from jobs.console.running_steps import RunningSteps

    return RunningSteps(terminal)


def run_all(scope: RunScope, progress: Progress, jobs: Iterable[str] = JOBS) -> None:
    """Run each job as soon as the tables it needs are written.  The first failure ends the run."""
    with scope.lake.derivation_lock():
        _run_all(scope, progress, jobs)


def _needed(name: str) -> set[str]:
    """The tables that must be written before the job runs: one that reads the events of the run's
    groups needs all of EVENT_TABLES, as together they say which groups these are."""
    module = job(name)
    reads = {*module.READS, *getattr(module, "AFTER", ())}
    return reads if reads.isdisjoint(EVENT_TABLES) else reads.union(EVENT_TABLES)


def _run_all(scope: RunScope, progress: Progress, jobs: Iterable[str]) -> None:
    waiting = list(jobs)
    running: dict[Future[None], str] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            while waiting or running:
                unwritten = {*waiting, *running.values()}
                for name in [n for n in waiting if unwritten.isdisjoint(_needed(n))]:
                    waiting.remove(name)
                    act = partial(job(name).run, scope)
                    running[pool.submit(progress.step, name, act)] = name
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    del running[future]
                    future.result()
        except KeyboardInterrupt:
            # Cancel repeatedly, because a job that is still planning submits its Spark job after
            # the first cancel.
            while wait(running, timeout=CANCEL_INTERVAL_S).not_done:
                scope.lake.cancel_jobs()
            raise
