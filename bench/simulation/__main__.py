"""How fast fleets are played: into files by one process, and by Spark into a lake.

    python -m bench.simulation --groups 1000

The fleet is a day of bench/simulation/day.toml.  CPU time, of the process and of all its children
(Spark's workers and its JVM); records and lines are counted as they come.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from coordinator_core.simulation import Line, World, Written
from jobs.command_line.config import load_config
from jobs.engine.session import build_session
from jobs.lake.tables import Lake
from jobs.simulate.command import Spec, read_spec
from jobs.simulate.into_lake import of_size, run

SPEC = Path(__file__).parent / "day.toml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--plain", type=int, default=2, help="groups played with every heartbeat")
    given = parser.parse_args()
    spec = read_spec(SPEC)
    for groups, skips_idle in ((given.plain, False), (given.plain, True)):
        small = replace(spec, fleet=of_size(spec.fleet, groups))
        _print(f"one process, skips idle time: {skips_idle}", groups, *_alone(small, skips_idle))
    whole = replace(spec, fleet=of_size(spec.fleet, given.groups))
    _print("Spark, into bronze", given.groups, *_spark(whole))


def _alone(spec: Spec, skips_idle: bool) -> tuple[int, float, float]:
    begun, begun_cpu = time.monotonic(), time.process_time()
    world = World(spec.fleet, spec.start_ms, spec.fleet.seed, skips_idle=skips_idle, traces=False)
    count = 0
    for output in world.run():
        if isinstance(output, Written):
            count += len(output.records)
        elif isinstance(output, Line):
            count += 1
    return count, time.process_time() - begun_cpu, time.monotonic() - begun


def _spark(spec: Spec) -> tuple[int, float, float]:
    with tempfile.TemporaryDirectory() as folder:
        session = build_session(load_config(None))
        session.range(1).count()
        begun = time.monotonic()
        counts = run(Lake(session, folder, "day"), spec, spec.fleet.seed)
        took = time.monotonic() - begun
        session.stop()
        _end_jvm()
    return counts.records + counts.lines, _cpu_of_children(), took


def _end_jvm() -> None:
    """Its CPU time is counted when it has ended."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _print(what: str, groups: int, count: int, cpu_s: float, wall_s: float) -> None:
    print(
        f"{what}: {groups} group-days, {count} records and lines; {cpu_s:.0f} s of CPU,"
        f" {wall_s:.0f} s by the clock; of CPU time {groups / cpu_s:.2f} group-days/s,"
        f" {count / cpu_s:.0f} records and lines/s; by the clock {groups / wall_s:.2f}"
        f" and {count / wall_s:.0f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
