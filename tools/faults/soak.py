"""`regroup watch` beside a writer: its memory must not grow, and its tables must stay fresh.

    python -m tools.faults.soak [--minutes N] [--every T] [--engine E] [--growth-mib N]

A simulated group flaps from now on; its log lines and record batches are written at their times.
Memory is the resident memory of the watch and its children.  On Spark, its slope after the warm-up,
fitted to the medians of windows, must stay below 1 MiB per 10 minutes.  On the embedded engine, the
watch must replace its process, and no sample may exceed the highest sample until two passes had new
input plus the growth that the watch allows plus the memory of a pass: a watch measures its growth
between passes.  Freshness is the age of the oldest written event that
no ended pass has stored; it must stay below twice the interval plus the longest pass.  Prints both,
and a line per ten minutes; exit 1 if a bound is exceeded or a pass failed.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
import time
from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from jobs.configuration.alert_settings import span_s
from jobs.segments.batch import Batch
from jobs.segments.reader import read_segment
from jobs.simulate.command import simulate
from tools.engines import Engines
from tools.faults.runs import NightlyProcess, nightly
from tools.fuzz.bounded import resident_kib_below

SPEC = """
name = "soak"
start = {start}
length = "{minutes}m"
seed = 1

[cluster]
era = "3.9"

[[topics]]
name = "orders"
partitions = 24

[[groups]]
name = "billing"
topics = ["orders"]
processes = 6
client = "java-3.9"
assignors = ["range"]
session_timeout = "10s"

[[groups.plans]]
kind = "start"
at = "1s"
spread = "2s"

[[groups.plans]]
kind = "cut"
at = "1m"
every = "2m"
processes = [3]
length = "20s"
"""
PASS = re.compile(r" pass \d+: (?P<news>.*), (?P<seconds>[\d.]+) s$")
REPLACED = re.compile(r" memory [\d,]+ to [\d,]+ MiB: replacing the process$")
NEWEST = re.compile(r"newest event (?P<time>[-\d]+ [:\d]+)")
STEP_S = 1.0
SAMPLE_S = 10
REPORT_S = 600
WINDOW_S = 300
MOST_WARM_UP_S = 1800
MOST_MIB_PER_10_MINUTES = 1.0
MOST_MIB_PER_PASS = 64


@dataclass
class Writer:
    """Files of a simulated group that grow with the clock; ``times``: of the lines written."""

    source: Path
    target: Path
    times: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        lines = (self.source / "server.log").read_text().splitlines(keepends=True)
        self._lines = [(_line_time(line), line) for line in lines]
        self._batches = [
            (batch.timestamps[-1] / 1000, file.relative_to(self.source), data)
            for file in (self.source / "segments").rglob("*.log")
            for batch, data in _batches(file)
        ]

    def write_until(self, now: float) -> None:
        lines = [line for at, line in self._lines if at <= now]
        self.times += [at for at, _ in self._lines[: len(lines)]]
        del self._lines[: len(lines)]
        _append(self.target / "logs" / "server.log", "".join(lines).encode())
        for _, file, data in (each for each in self._batches if each[0] <= now):
            _append(self.target / file, data)
        self._batches = [each for each in self._batches if each[0] > now]

    def oldest_after(self, newest: float) -> float | None:
        """The first written event later than this second, or None without one."""
        index = bisect_right(self.times, newest + 1)
        return self.times[index] if index < len(self.times) else None


def _line_time(line: str) -> float:
    return (
        datetime.fromisoformat(line[1:20]).replace(tzinfo=UTC).timestamp() + int(line[21:24]) / 1e3
    )


def _batches(file: Path) -> list[tuple[Batch, bytes]]:
    content = file.read_bytes()
    items = read_segment(content, partition=0, file=str(file))
    batches = [batch for batch in items if isinstance(batch, Batch)]
    return [(batch, content[batch.position : batch.position + batch.size]) for batch in batches]


def _append(file: Path, data: bytes) -> None:
    if data or not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as out:
            out.write(data)


@dataclass
class Measured:
    """``samples``: (seconds since the start, MiB).

    ``growth_mib``: after which the watch replaces its process, or None if it does not.
    ``first_mib``: the highest sample until two passes had new input.
    """

    every_s: float
    growth_mib: int | None = None
    samples: list[tuple[float, float]] = field(default_factory=list)
    oldest_s: float = 0.0
    longest_pass_s: float = 0.0
    passes: int = 0
    failed: int = 0
    passes_with_news: int = 0
    replacements: int = 0
    first_mib: float = 0.0
    newest: float | None = None
    _lines_read: int = 0

    def read(self, lines: list[str]) -> None:
        """The lines of passes that ended since the previous call."""
        for line in lines[self._lines_read :]:
            self.replacements += REPLACED.search(line) is not None
            if (match := PASS.search(line)) is None:
                continue
            self.passes += 1
            self.failed += match["news"].startswith("failed")
            self.passes_with_news += " new record" in match["news"]
            self.longest_pass_s = max(self.longest_pass_s, float(match["seconds"]))
            if newest := NEWEST.search(match["news"]):
                self.newest = datetime.fromisoformat(f"{newest['time']}+00:00").timestamp()
        self._lines_read = len(lines)

    def sample(self, at_s: float, mib: float) -> None:
        self.samples.append((at_s, mib))
        if self.passes_with_news < 2:
            self.first_mib = max(self.first_mib, mib)

    def waited(self, writer: Writer, now: float) -> None:
        """The oldest event that waits, once a pass has stored any."""
        oldest = None if self.newest is None else writer.oldest_after(self.newest)
        if oldest is not None:
            self.oldest_s = max(self.oldest_s, now - oldest)

    def slope(self) -> float | None:
        """MiB per 10 minutes after the warm-up, or None if fewer than three windows are left."""
        warm_up_s = min(MOST_WARM_UP_S, self.samples[-1][0] / 3)
        windows: dict[int, list[float]] = {}
        for at, mib in self.samples:
            if at >= warm_up_s:
                windows.setdefault(int((at - warm_up_s) // WINDOW_S), []).append(mib)
        if len(windows) < 3:
            return None
        medians = [statistics.median(values) for values in windows.values()]
        return statistics.linear_regression(list(windows), medians).slope * 600 / WINDOW_S

    def bound_s(self) -> float:
        return 2 * self.every_s + self.longest_pass_s

    def peak_mib(self) -> float:
        return max(mib for _, mib in self.samples)

    def problems(self) -> list[str]:
        problems = [f"{self.failed} passes failed"] if self.failed else []
        if memory := self._problem_of_memory():
            problems.append(memory)
        if self.oldest_s > self.bound_s():
            problems.append(f"an event was {self.oldest_s:.0f} s old; bound {self.bound_s():.0f} s")
        return problems

    def _problem_of_memory(self) -> str | None:
        if self.growth_mib is not None:
            bound_mib = self.first_mib + self.growth_mib + MOST_MIB_PER_PASS
            if not self.replacements:
                return "the process was not replaced: give more minutes"
            is_exceeded = self.peak_mib() > bound_mib
            return f"{self.peak_mib():.0f} MiB; bound {bound_mib:.0f} MiB" if is_exceeded else None
        slope = self.slope()
        if slope is None:
            return "too short for a slope of memory: give more minutes"
        is_growing = slope >= MOST_MIB_PER_10_MINUTES
        return f"memory grows by {slope:.2f} MiB per 10 minutes" if is_growing else None


def soak(folder: Path, minutes: float, every: str, engine: str, growth_mib: int) -> Measured:
    spec = folder / "spec.toml"
    start = datetime.now(UTC).replace(microsecond=0)
    text = SPEC.format(start=start.isoformat().replace("+00:00", "Z"), minutes=int(minutes) + 5)
    spec.write_text(text)
    simulate(str(spec), str(folder / "simulated"), None)
    writer = Writer(folder / "simulated", folder / "written")
    writer.write_until(time.time())
    command = nightly(engine, [])
    command[command.index("nightly")] = "watch"
    command.remove("--no-advice")
    command += ["--lake", str(folder / "lake"), "--cluster-id", "c", "--every", every]
    command += ["--memory-growth-mib", str(growth_mib)]
    command += ["--broker-log", str(writer.target / "logs")]
    command += ["--segments", str(writer.target / "segments")]
    watch = NightlyProcess(command)
    is_replaced = engine == Engines.EMBEDDED
    measured = Measured(span_s(every, "--every"), growth_mib if is_replaced else None)
    try:
        _observe(watch, writer, measured, minutes * 60)
    finally:
        watch.process.terminate()
        watch.wait()
    return measured


def _observe(watch: NightlyProcess, writer: Writer, measured: Measured, length_s: float) -> None:
    began = time.monotonic()
    next_sample = next_report = 0.0
    while (passed := time.monotonic() - began) < length_s and watch.process.poll() is None:
        writer.write_until(time.time())
        measured.read(watch.lines)
        measured.waited(writer, time.time())
        if passed >= next_sample:
            measured.sample(passed, resident_kib_below(watch.process.pid) / 1024)
            next_sample += SAMPLE_S
        if passed >= next_report:
            print(f"{passed / 60:.0f} minutes: {_line(measured)}", file=sys.stderr, flush=True)
            next_report += REPORT_S
        time.sleep(STEP_S)
    if watch.process.poll() is not None:
        measured.failed += 1
        print(*watch.lines[-20:], f"exit code {watch.wait()}", sep="\n", file=sys.stderr)


def _line(measured: Measured) -> str:
    slope = measured.slope()
    growth = "unknown" if slope is None else f"{slope:+.2f} MiB per 10 minutes"
    return (
        f"{measured.passes} passes, {measured.failed} failed, longest "
        f"{measured.longest_pass_s:.1f} s; {measured.samples[-1][1]:.0f} MiB, growth {growth}; "
        f"first {measured.first_mib:.0f} MiB, peak {measured.peak_mib():.0f} MiB, "
        f"{measured.replacements} replacements; "
        f"oldest unstored event {measured.oldest_s:.1f} s, bound {measured.bound_s():.1f} s"
    )


def main(
    minutes: Annotated[float, typer.Option(help="Length of the run.")] = 120,
    every: Annotated[str, typer.Option(help="Interval of the watch.")] = "30s",
    engine: Annotated[Engines, typer.Option(help="The engine of the watch.")] = Engines.EMBEDDED,
    growth_mib: Annotated[int, typer.Option(help="--memory-growth-mib of the watch.")] = 1024,
) -> None:
    code = 0
    for name in engine.names():
        with tempfile.TemporaryDirectory(prefix="regroup-soak-") as work:
            measured = soak(Path(work), minutes, every, name, growth_mib)
        print(f"{name}: {measured.samples[-1][0] / 60:.0f} minutes: {_line(measured)}")
        print(*measured.problems(), sep="\n")
        code |= int(bool(measured.problems()))
    raise typer.Exit(code)


if __name__ == "__main__":
    typer.run(main)
