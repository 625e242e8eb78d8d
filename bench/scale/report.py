"""Prints what `bench.scale` measured: a table of all jobs, ratios of the runners, growth."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from math import log

# The other runners are compared with this runner.
COMPARED = "embedded"


@dataclass(frozen=True)
class Stage:
    """One job's clock and CPU seconds, and the maximum MiB of each kind of process."""

    name: str
    seconds: float
    cpu_s: float
    mib: dict[str, float]


@dataclass(frozen=True)
class Run:
    """All jobs of one day by one runner."""

    runner: str
    scale: float
    is_skewed: bool
    stages: list[Stage]

    @property
    def day(self) -> str:
        return f"{self.scale:g}x{' skewed' if self.is_skewed else ''}"

    @property
    def total(self) -> Stage:
        return _sum("all", self.stages)

    def of(self, tables: Iterable[str]) -> Stage:
        """The jobs that write these tables, together."""
        return _sum("some", [stage for stage in self.stages if stage.name in tables])


def _sum(name: str, stages: list[Stage]) -> Stage:
    kinds = {kind for stage in stages for kind in stage.mib}
    memory = {kind: max(stage.mib.get(kind, 0.0) for stage in stages) for kind in kinds}
    seconds, cpu_s = (
        sum(getattr(stage, each) for stage in stages) for each in ("seconds", "cpu_s")
    )
    return Stage(name, seconds, cpu_s, memory)


def printed(stage: Stage) -> str:
    """Clock seconds, CPU seconds, MiB: of the JVM / the workers / the process, or the process."""
    memory = [stage.mib[kind] for kind in ("JVM", "workers", "process") if kind in stage.mib]
    return (
        f"{_short(stage.seconds)}, {_short(stage.cpu_s)}, {' / '.join(f'{m:.0f}' for m in memory)}"
    )


def _short(seconds: float) -> str:
    return f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"


def print_table(runs: list[Run]) -> None:
    """Print one row per job: clock seconds, CPU seconds and memory of each run."""
    print("| job | " + " | ".join(f"{run.day} {run.runner}" for run in runs) + " |")
    print("|---|" + "---|" * len(runs))
    names = dict.fromkeys(stage.name for run in runs for stage in run.stages)
    for name in names:
        stages = [next((s for s in run.stages if s.name == name), None) for run in runs]
        cells = (printed(stage) if stage else "" for stage in stages)
        print(f"| {name} | " + " | ".join(cells) + " |")
    print("| all | " + " | ".join(printed(run.total) for run in runs) + " |")


def print_ratios(runs: list[Run], tables_of_peer: tuple[str, ...]) -> None:
    """Print the embedded engine's CPU time and clock beside those of the other runners."""
    for own, other in itertools.product(runs, runs):
        if own.runner != COMPARED or other.runner == COMPARED or own.day != other.day:
            continue
        tables = tables_of_peer if other.runner == "peer" else [s.name for s in own.stages]
        mine, its = own.of(tables), other.of(tables)
        cpu, clock = mine.cpu_s / its.cpu_s, mine.seconds / its.seconds
        print(
            f"{own.day}: embedded / {other.runner}, {len(tables)} jobs: "
            f"{cpu:.2f} of the CPU time ({_times(cpu)}), {clock:.2f} of the clock"
        )


def _times(ratio: float) -> str:
    return f"1/{1 / ratio:.1f}" if ratio < 1 else f"{ratio:.1f} times"


def print_growth(runs: list[Run]) -> None:
    """Print how each runner's totals grow from one size to the next, relative to linear growth, and
    the exponent of the growth of CPU time; and skewed days beside even ones."""
    for runner in dict.fromkeys(run.runner for run in runs):
        even = [run for run in runs if run.runner == runner and not run.is_skewed]
        for before, after in itertools.pairwise(even):
            by = after.scale / before.scale
            clock, cpu = _growth(before, after)
            print(
                f"{runner}, {before.day} -> {after.day}: {clock / by:.2f} x linear by the clock, "
                f"{cpu / by:.2f} x in CPU time (exponent {log(cpu) / log(by):.2f})"
            )
        for skewed in (run for run in runs if run.runner == runner and run.is_skewed):
            clock, cpu = _growth(next(r for r in even if r.scale == skewed.scale), skewed)
            print(
                f"{runner}, {skewed.day}: {clock:.2f} x the even day by the clock, "
                f"{cpu:.2f} x in CPU time"
            )


def _growth(before: Run, after: Run) -> tuple[float, float]:
    first, second = before.total, after.total
    return second.seconds / first.seconds, second.cpu_s / first.cpu_s
