"""Decoding, compared with Kafka's own readers and with no decoding: `make -C bench decode`.

`members`: group records in CPU time (without Java's garbage collector), Regroup's as Arrow columns
and Kafka's as objects, with and without subscriptions and assignments; `types`: GroupMetadata and
captured records of the other group types, as the columns of their tables; `job`: the decode jobs
and a pass through Arrow that changes nothing; `segments`: `regroup decode` and kafka-dump-log with
its offsets decoder; `ingest`: segments into a lake by both engines, and the same again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import typer
from pyspark.sql.pandas.types import to_arrow_schema

from bench.decode.inputs import (
    batch_of,
    captured,
    commit_records,
    empty_groups,
    group_records,
    segment,
    targets,
    task_groups,
)
from bench.process_tree import ProcessTreeWatch
from jobs.bulk import kernel
from jobs.bulk.decoder import Decoder, chunks, decode_batch
from jobs.lake.tables import schema_of

assert kernel  # import the kernel here, so that small inputs use it, too

ROOT = Path(__file__).resolve().parents[2]
SCALA = next(Path(pyspark.__file__).parent.glob("jars/scala-library-*.jar"))
BROKER = f"{ROOT}/.jars/broker/*:{SCALA}"
CORE = min(os.sched_getaffinity(0))
NOTHING = subprocess.DEVNULL


def seconds(act: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    act()
    return clock() - start


# Members --------------------------------------------------------------------------------------


def members(records: int, passes: int) -> None:
    generated = list(group_records(records))
    values = [value for _, value in generated if value is not None]
    batch = pa.record_batch(
        {
            "key": pa.array([key for key, value in generated if value], pa.binary()),
            "value": pa.array(values, pa.binary()),
        }
    )
    os.sched_setaffinity(0, {CORE})
    print(f"{'million members/s of CPU time, best of':40}{passes}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "values")
        file.write_bytes(b"".join(len(value).to_bytes(4, "big") + value for value in values))
        java = java_reader(folder, file, passes)
        for name, inner in (("records", False), ("with subscriptions and assignments", True)):
            count, java_s = java(inner)
            once = partial(ours_once, batch, inner)
            regroup_s = min(seconds(once, time.process_time) for _ in range(passes))
            ours, kafka = count / regroup_s / 1e6, count / java_s / 1e6
            print(f"  {name:38}ours {ours:.2f}   Kafka's {kafka:.2f}")


def ours_once(batch: pa.RecordBatch, inner: bool) -> None:
    from jobs.bulk.records import read_records
    from jobs.group_metadata import _columns

    for chunk in chunks(batch):
        keys, values = chunk.column("key"), chunk.column("value")
        if inner:
            _columns(keys, values)
            continue
        value = read_records(2, keys, values).value
        for name in value.columns:
            value[name]


def java_reader(folder: str, file: Path, passes: int) -> Callable[[bool], tuple[int, float]]:
    source = Path(__file__).with_name("KafkaReader.java")
    subprocess.run(["javac", "-cp", BROKER, "-d", folder, str(source)], check=True)

    def run(inner: bool) -> tuple[int, float]:
        java = ["java", "-Xmx2g", "-XX:+UseSerialGC", "-cp", f"{folder}:{BROKER}", "KafkaReader"]
        command = [*java, str(file), str(3 * passes), *(["members"] if inner else [])]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        figures = done.stdout.split()
        return int(figures[0]), min(map(int, figures[1::2])) / 1e9

    return run


# Group types ----------------------------------------------------------------------------------


def types(passes: int) -> None:
    """CPU time per byte, of records of several sizes: every column of the tables."""
    from jobs import group_metadata as metadata
    from jobs import group_records as others

    os.sched_setaffinity(0, {CORE})
    batches = {
        "GroupMetadata": ("group_metadata", metadata, batch_of(group_records(5_000))),
        "GroupMetadata without members": (
            "group_metadata", metadata, batch_of(empty_groups(100_000)),
        ),
        "Connect and Streams, classic": (
            "group_metadata", metadata, batch_of(task_groups(copies=20)),
        ),
        "consumer, share, streams groups": (
            "group_records", others, captured(range(3, 24), copies=250),
        ),
        "ConsumerGroupTargetAssignmentMember": ("group_records", others, batch_of(targets(3_000))),
    }  # fmt: skip
    for name, (table, decoding, batch) in batches.items():
        schema = [f for f in table_schema(table) if f.name not in decoding.CARRIED]
        once = partial(decode_all, batch, pa.schema(schema), decoding.DECODER)
        spent_s = min(seconds(once, time.process_time) for _ in range(passes))
        size = (batch.column("key").nbytes + batch.column("value").nbytes) / len(batch)
        spent = f"{spent_s / len(batch) * 1e9:,.0f} ns of CPU time per record of {size:,.0f} bytes"
        print(f"{name:38}{len(batch) * size / spent_s / 1e6:6.0f} MB/s, {spent}", flush=True)


def decode_all(batch: pa.RecordBatch, schema: pa.Schema, decoder: Decoder) -> None:
    for chunk in chunks(batch):
        decode_batch(chunk, schema, (), decoder)


def table_schema(table: str) -> pa.Schema:
    return to_arrow_schema(schema_of(table), timezone="UTC")


# The decode jobs ------------------------------------------------------------------------------


def job(records: int) -> None:
    from pyspark.sql import functions as F

    from jobs.committed_offsets import CARRIED as OF_COMMITS
    from jobs.committed_offsets import committed_offsets
    from jobs.configuration.config import load_config
    from jobs.engine.session import build_session
    from jobs.group_metadata import CARRIED, group_metadata

    spark = build_session(load_config(str(ROOT / "conf/large.toml")))
    with tempfile.TemporaryDirectory() as folder:
        for name, type_, carried, decoded, generated in (
            ("group_metadata", 2, CARRIED, group_metadata, group_records(records)),
            ("committed_offsets", 1, OF_COMMITS, committed_offsets, commit_records(50 * records)),
        ):
            path = f"{folder}/{name}"
            write_bronze(path, type_, generated)
            bronze = spark.read.parquet(path)
            rows = bronze.where(F.col("key_type") == type_).withColumn("outcome", F.lit("plain"))
            untouched = rows.select(*carried, "key", "value")
            same = untouched.mapInArrow(passed_through, untouched.schema)
            runs = {"untouched": same, "decoded": decoded(bronze)}
            took = {
                run: min(seconds(lambda frame=frame: discard(frame)) for _ in range(3))
                for run, frame in runs.items()
            }
            ratio = took["decoded"] / took["untouched"]
            times = "   ".join(f"{run} {took[run]:.2f} s" for run in took)
            print(f"{name:20}{times}   ratio {ratio:.2f}", flush=True)
    spark.stop()


def passed_through(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return iter(batches)


def discard(frame) -> None:  # type: ignore[no-untyped-def]
    frame.write.format("noop").mode("overwrite").save()


def write_bronze(path: str, type_: int, records: Iterable[tuple[bytes, bytes | None]]) -> None:
    """Writes four files with the columns of offsets_records that the decode jobs read."""
    keys, values = zip(*records, strict=True)
    size = len(keys)
    same = {
        "cluster_id": "c",
        "topic_partition": "__consumer_offsets-0",
        "key_type": type_,
        "is_transactional": False,
        "producer_id": -1,
        "control": None,
    }
    types = {"key_type": pa.int32(), "producer_id": pa.int64(), "control": pa.string()}
    table = pa.table(
        {name: pa.array([value] * size, types.get(name)) for name, value in same.items()}
        | {
            "log_offset": pa.array(range(size), pa.int64()),
            "event_date": pa.array([20_000] * size, pa.date32()),
            "append_time": pa.array([0] * size, pa.timestamp("us", "UTC")),
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
        }
    )
    Path(path).mkdir()
    for number in range(4):
        part = table.slice(number * size // 4, (number + 1) * size // 4 - number * size // 4)
        pq.write_table(part, f"{path}/{number}.parquet")


# Segments -------------------------------------------------------------------------------------


def segments(megabytes: int) -> None:
    for compression in ("none", "lz4"):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "__consumer_offsets-0")
            place.mkdir()
            file = place / f"{0:020}.log"
            with file.open("wb") as out:
                out.writelines(segment(megabytes << 20, compression))
            size = file.stat().st_size / 1e6
            dump = ["java", "-cp", BROKER, "kafka.tools.DumpLogSegments", "--offsets-decoder"]
            kafka_speed = size / timed([*dump, "--files", str(file)])
            regroup = [sys.executable, "-m", "jobs.command_line.cli", "decode", str(file)]
            regroup_speed = size / timed(regroup)
            print(
                f"{size:.0f} MB, {compression:5} ours {regroup_speed:.1f} MB/s   "
                f"kafka-dump-log {kafka_speed:.1f} MB/s   ratio {regroup_speed / kafka_speed:.2f}",
                flush=True,
            )


def ingest(megabytes: int) -> None:
    """Each engine in a process of its own, on the same files."""
    with tempfile.TemporaryDirectory() as folder:
        size = sum(file.stat().st_size for file in segment_files(Path(folder), megabytes)) / 1e6
        for engine in ("spark", "embedded"):
            command = [sys.executable, "-m", "bench.decode.ingest", engine, folder]
            with ProcessTreeWatch(os.getpid()) as watch:
                done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
            mib = sum(used.mib for used in watch.used.values())
            print(f"ingest {size:.0f} MB, {engine}, peak memory {mib:,.0f} MiB")
            for run, figures in zip(("first", "again"), done.stdout.splitlines(), strict=True):
                cpu_s, clock_s, records = map(float, figures.split())
                print(f"  {run:6}{size / cpu_s:6.1f} MB and {records / cpu_s:8,.0f} records per"
                      f" second of CPU time, {size / clock_s:5.1f} MB/s", flush=True)  # fmt: skip


def segment_files(folder: Path, megabytes: int, partitions: int = 4) -> list[Path]:
    files = []
    for number in range(partitions):
        place = folder / f"__consumer_offsets-{number}"
        place.mkdir()
        files.append(place / f"{0:020}.log")
        with files[-1].open("wb") as out:
            out.writelines(segment((megabytes << 20) // partitions, "none"))
    return files


def timed(command: list[str]) -> float:
    return seconds(lambda: subprocess.run(command, check=True, stdout=NOTHING, cwd=ROOT))


PARTS = ["members", "types", "job", "segments", "ingest"]


def main(
    parts: Annotated[list[str] | None, typer.Argument(help=f"Any of {', '.join(PARTS)}")] = None,
    records: Annotated[int, typer.Option(help="Group records.")] = 20_000,
    passes: Annotated[int, typer.Option(help="Passes of members and types.")] = 7,
    megabytes: Annotated[int, typer.Option(help="Size of the segments.")] = 200,
) -> None:
    measured = parts or PARTS
    if "members" in measured:
        members(records // 2, passes)
    if "types" in measured:
        types(passes)
    if "job" in measured:
        job(records)
    if "segments" in measured:
        segments(megabytes)
    if "ingest" in measured:
        ingest(megabytes)


if __name__ == "__main__":
    typer.run(main)
