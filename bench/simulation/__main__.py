"""Speed of the simulation: in one process, and with Spark into a lake.

    python -m bench.simulation --groups 1000

The fleet is bench/simulation/day.toml, one day; in one process also with all of its groups on
brokers of 4.4, as classic groups and as consumer groups.  Rates use the CPU time of the process and
of all its children (Spark's workers and JVM).
"""

from __future__ import annotations

import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from coordinator_core.simulation import BrokerLogLine, SimulatedCluster, WrittenBatch
from jobs.configuration.config import load_config
from jobs.engine.session import build_session
from jobs.lake.opening import open_lake
from jobs.simulate.into_lake import run, with_group_count
from jobs.simulate.spec_file import SimulationSpec, read_spec

SPEC = Path(__file__).parent / "day.toml"


def main(
    groups: Annotated[int, typer.Option(help="Groups of the fleet, by Spark.")] = 1_000,
    plain: Annotated[int, typer.Option(help="Groups to simulate in one process.")] = 2,
    beside: Annotated[int, typer.Option(help="Groups to simulate under each protocol.")] = 20,
) -> None:
    spec = read_spec(SPEC)
    for skips_idle in (False, True):
        small = replace(spec, fleet=with_group_count(spec.fleet, plain))
        _print(f"one process, skips idle time: {skips_idle}", plain, *_alone(small, skips_idle))
    for protocol in ("classic", "consumer"):
        _print(f"one process, 4.4, {protocol}", beside, *_alone(_under(spec, protocol, beside)))
    if not groups:
        return
    fleet = replace(spec, fleet=with_group_count(spec.fleet, groups))
    _print("Spark, into bronze", groups, *_spark(fleet))


def _under(spec: SimulationSpec, protocol: str, count: int) -> SimulationSpec:
    """The fleet on brokers of 4.4, with groups of this protocol and clients that have it."""
    fleet = with_group_count(spec.fleet, count)
    groups = [
        replace(
            group,
            protocol=protocol,
            client=group.client if group.client == "librdkafka-2" else "java-4.4",
            heartbeat_interval_ms=5000,
        )
        for group in fleet.groups
    ]
    cluster = replace(fleet.cluster, era="4.4")
    return replace(spec, fleet=replace(fleet, groups=tuple(groups), cluster=cluster))


def _alone(spec: SimulationSpec, skips_idle: bool = True) -> tuple[int, float, float]:
    start, cpu_start = time.monotonic(), time.process_time()
    cluster = SimulatedCluster(
        spec.fleet, spec.start_ms, spec.fleet.seed, skips_idle=skips_idle, traces=False
    )
    count = 0
    for output in cluster.run():
        if isinstance(output, WrittenBatch):
            count += len(output.records)
        elif isinstance(output, BrokerLogLine):
            count += 1
    return count, time.process_time() - cpu_start, time.monotonic() - start


def _spark(spec: SimulationSpec) -> tuple[int, float, float]:
    with tempfile.TemporaryDirectory() as folder:
        session = build_session(load_config(None))
        session.range(1).count()
        start = time.monotonic()
        counts = run(open_lake(session, folder, "day"), spec, spec.fleet.seed)
        took = time.monotonic() - start
        session.stop()
        _end_jvm()
    return counts.records + counts.lines, _cpu_of_children(), took


def _end_jvm() -> None:
    """Stop the JVM: the CPU time of a child counts only after its end."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _print(mode: str, groups: int, count: int, cpu_s: float, wall_s: float) -> None:
    print(
        f"{mode}: {groups} group-days, {count} records and lines; {cpu_s:.0f} s of CPU time,"
        f" {wall_s:.0f} s wall time; per CPU second {groups / cpu_s:.2f} group-days/s,"
        f" {count / cpu_s:.0f} records and lines/s; per wall second {groups / wall_s:.2f}"
        f" and {count / wall_s:.0f}",
        flush=True,
    )


if __name__ == "__main__":
    typer.run(main)
