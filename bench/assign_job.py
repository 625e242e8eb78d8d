"""The job assign_partitions on generated groups: wall time, generations per second, memory.

    python -m bench.assign_job           # 10,000 groups of 10 members, 50 partitions
    python -m bench.assign_job --large   # 100,000 generations of 10 to 20 members in 400 groups:
                                         # even, and with half of them in one group (skewed)

Measures the re-run, from a Parquet file with the decoded input columns to the Delta tables
assignor_quality and assignments, in a separate Spark session per input.  Memory is the maximum of
the JVM and of all Python workers; CPU seconds are counted from the start of these processes.
"""

from __future__ import annotations

import multiprocessing
import random
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import typer

from bench.assignors import throughput
from bench.process_tree import ProcessTreeWatch, ResourceUse
from coordinator_core.assignors import ASSIGNORS, CLIENT_ASSIGNORS, Topics
from coordinator_core.assignors.subscriptions import as_sent, grouped
from coordinator_core.records import Assignment, Subscription
from coordinator_core.records import encode_assignment as assigned
from coordinator_core.records import encode_subscription as subscribed
from jobs.assign_partitions import CHUNK, FRAME, in_chunks, rerun, store
from jobs.assignors.rerun import Rerun
from jobs.configuration.config import load_config
from jobs.configuration.packaged_files import CONF
from jobs.engine.session import build_session
from jobs.lake.opening import open_lake
from jobs.lake.scope import AllDates

TOPICS, PARTITIONS = 5, 10
OWN = "cooperative-sticky"
COUNTS = {f"topic-{i}": PARTITIONS for i in range(TOPICS)}
TEXTS, BLOBS = pa.list_(pa.string()), pa.list_(pa.binary())
SCHEMA = pa.schema(
    {
        "cluster_id": pa.string(), "group_id": pa.string(), "incarnation": pa.int32(),
        "generation": pa.int32(), "event_date": pa.date32(), "time_ms": pa.int64(),
        "protocol": pa.string(), "member_id": TEXTS, "instance_id": TEXTS, "subscription": BLOBS,
        "assignment": BLOBS, "last_ids": TEXTS, "in_bounds": pa.bool_(),
        "partitions_assigned": pa.int32(), "processes": pa.list_(
            pa.struct({"member_id": pa.string(), "process": pa.string()})
        ),
        "topic_counts": pa.list_(pa.struct(
            {"topic": pa.string(), "partitions": pa.int32(), "since_ms": pa.int64(),
             "from_table": pa.bool_()}
        )),
    }
)  # fmt: skip


def generations_of(
    group: str,
    generations: int,
    members: range,
    rnd: random.Random,
    counts: Mapping[str, int] = COUNTS,
) -> Iterator[dict]:
    """In each generation a member leaves or joins; members own their previous assignment."""
    topics, ids, assignment = Topics(counts), [], {}
    topic_counts = [
        {"topic": topic, "partitions": count, "since_ms": 0, "from_table": False}
        for topic, count in counts.items()
    ]
    for number in range(1, generations + 1):
        if not ids or len(ids) == members.start or (len(ids) < members.stop and rnd.random() < 0.5):
            missing = 1 if ids else rnd.choice(members)
            ids += [f"consumer-{group}-{rnd.getrandbits(64):016x}" for _ in range(missing)]
        else:
            ids.pop(rnd.randrange(len(ids)))
        sent = [as_sent(OWN, m, counts, assignment.get(m, []), number - 1) for m in ids]
        assignment = ASSIGNORS[OWN](topics, sent)
        yield {
            "cluster_id": "bench", "group_id": group, "incarnation": 1, "generation": number,
            "event_date": date(2026, 11, 21), "time_ms": number, "protocol": OWN,
            "member_id": list(ids), "instance_id": [None] * len(ids), "in_bounds": True,
            "partitions_assigned": None,
            "subscription": [_subscription(member) for member in sent],
            "assignment": [assigned(Assignment(3, list(grouped(assignment[m])))) for m in ids],
            "last_ids": list(ids), "topic_counts": topic_counts,
            "processes": [{"member_id": each, "process": each} for each in ids],
        }  # fmt: skip


def _subscription(sent: Any) -> bytes:
    owned = [(topic, list(numbers)) for topic, numbers in sent.owned]
    return subscribed(Subscription(3, list(sent.topics), None, owned, sent.field_generation))


def write(path: str, groups: int, generations: int, members: range, skewed: bool = False) -> None:
    """``skewed``: half of all generations are in one group."""
    rnd = random.Random(1)
    in_largest = generations // 2 if skewed else 0
    in_others = (generations - in_largest) // groups
    with pq.ParquetWriter(path, SCHEMA) as file:
        for group in range(groups):
            count = in_largest if group == 0 and in_largest else in_others
            rows = generations_of(f"group-{group}", count, members, rnd)
            while part := [row for _, row in zip(range(2000), rows, strict=False)]:
                file.write_table(pa.Table.from_pylist(part, SCHEMA))


@dataclass(frozen=True)
class Options:
    generations: int
    assignors: tuple[str, ...]
    conf: str


def in_process(path: str, assignors: tuple[str, ...]) -> float:
    """Generations per second of CPU time, on the first 4,000 generations."""
    frame = pa.Table.from_batches([next(pq.ParquetFile(path).iter_batches(4000))])
    chunk = pc.floor(pc.divide(pc.cast(frame["generation"], pa.float64()), CHUNK))
    frame = frame.append_column("chunk", chunk)
    frame = frame.append_column("carried", pa.array([False] * len(frame)))
    start = time.process_time()
    Rerun(assignors)(frame)
    return len(frame) / (time.process_time() - start)


def in_spark(path: str, folder: str, options: Options, results: Any) -> None:
    """Puts the number of generations and their seconds into the queue ``results``."""
    spark = build_session(load_config(options.conf))
    generations = spark.read.parquet(path)
    total = generations.count()
    start = time.perf_counter()
    frames = 1 + total // FRAME
    rows = rerun(in_chunks(generations), options.assignors, frames)
    store(AllDates(open_lake(spark, folder, "bench")), rows, frames)
    results.put((total, time.perf_counter() - start))


def through_spark(path: str, options: Options) -> tuple[int, float, dict[str, ResourceUse]]:
    """Runs the job in a new process with a JVM of its own."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        child = context.Process(target=in_spark, args=(path, folder, options, results))
        child.start()
        with ProcessTreeWatch(child.pid or 0) as watch:
            child.join()
    if child.exitcode:
        raise SystemExit(child.exitcode)
    total, seconds = results.get()
    return total, seconds, watch.used


def small(options: Options) -> None:
    for name in options.assignors:
        print(f"{name:20} alone {throughput.measured(name):10,.0f} generations/s", flush=True)
    print(f"{len(options.assignors)} assignors, steps and chains, decoding and quality included")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/generations.parquet"
        write(path, groups=10_000, generations=20_000, members=range(10, 11))
        speed = in_process(path, options.assignors)
        print(f"one process {speed:10,.0f} generations/s", flush=True)
        total, seconds, _ = through_spark(path, options)
    print(f"Spark       {total / seconds:10,.0f} generations/s")


def large(options: Options) -> None:
    print(f"{'input':8}{'generations':>12}{'wall s':>9}{'per s':>8}", end="")
    print(f"{'JVM MiB':>10}{'Python MiB':>12}{'JVM cpu s':>11}{'Python cpu s':>14}", flush=True)
    wall_seconds = []
    for input_, skewed in (("even", False), ("skewed", True)):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/generations.parquet"
            write(path, 400, options.generations, range(10, 21), skewed)
            total, seconds, used = through_spark(path, options)
        jvm, python = used["java"], used["python"]
        print(f"{input_:8}{total:12,}{seconds:9.1f}{total / seconds:8,.0f}", end="")
        print(
            f"{jvm.mib:10,.0f}{python.mib:12,.0f}{jvm.cpu_s:11.0f}{python.cpu_s:14.0f}", flush=True
        )
        wall_seconds.append(seconds)
    print(f"skewed / even {wall_seconds[1] / wall_seconds[0]:.2f}")


def main(
    is_large: Annotated[
        bool, typer.Option("--large", help="Many generations, even and skewed.")
    ] = False,
    generations: Annotated[int, typer.Option(help="Generations with --large.")] = 100_000,
    assignors: Annotated[str, typer.Option(help="Names, separated by commas.")] = ",".join(
        CLIENT_ASSIGNORS
    ),
    conf: Annotated[str, typer.Option(help="Settings of Spark.")] = str(CONF / "large.toml"),
) -> None:
    options = Options(generations, tuple(assignors.split(",")), conf)
    (large if is_large else small)(options)


if __name__ == "__main__":
    typer.run(main)
