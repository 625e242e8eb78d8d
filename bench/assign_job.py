"""The job assign_partitions on made-up groups: generations a second through Spark and without it.

    python -m bench.assign_job                          # 10,000 groups of 10 members, 50 partitions
    python -m bench.assign_job --groups 400 --generations 100000 [--skewed]

Timed is the re-run, from a Parquet file of what the job reads of the records to rows that are
counted, beside the same frames in this process, and beside the assignors alone.  ``--skewed``: one
group has half of all generations.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.assignors import throughput
from coordinator_core.assignors import ASSIGNORS, CLIENT_ASSIGNORS, Topics
from coordinator_core.assignors.subscriptions import as_sent, grouped
from coordinator_core.records import Assignment, Subscription
from coordinator_core.records import encode_assignment as assigned
from coordinator_core.records import encode_subscription as subscribed
from jobs.assign_partitions import CHUNK, FRAME, in_chunks, rerun
from jobs.config import load_config
from jobs.partition_counts import PartitionCounts
from jobs.rerun import Rerun
from jobs.session import build_session

TOPICS, PARTITIONS = 5, 10
OWN = "cooperative-sticky"
COUNTS = {f"topic-{i}": PARTITIONS for i in range(TOPICS)}
TEXTS, BLOBS = pa.list_(pa.string()), pa.list_(pa.binary())
SCHEMA = pa.schema(
    {
        "cluster_id": pa.string(), "group_id": pa.string(), "incarnation": pa.int32(),
        "generation": pa.int32(), "event_date": pa.date32(), "time_ms": pa.int64(),
        "protocol": pa.string(), "member_id": TEXTS, "instance_id": TEXTS, "subscription": BLOBS,
        "assignment": BLOBS, "process": TEXTS, "last_ids": TEXTS, "last_process": TEXTS,
    }
)  # fmt: skip


def life(group: str, generations: int, members: range, rnd: random.Random) -> Iterator[dict]:
    """A member leaves or joins in each generation; everybody owns what it was given before."""
    topics, ids, given = Topics(COUNTS), [], {}
    for number in range(1, generations + 1):
        if not ids or len(ids) == members.start or (len(ids) < members.stop and rnd.random() < 0.5):
            missing = 1 if ids else rnd.choice(members)
            ids += [f"consumer-{group}-{rnd.getrandbits(64):016x}" for _ in range(missing)]
        else:
            ids.pop(rnd.randrange(len(ids)))
        sent = [as_sent(OWN, m, COUNTS, given.get(m, []), number - 1) for m in ids]
        given = ASSIGNORS[OWN](topics, sent)
        yield {
            "cluster_id": "bench", "group_id": group, "incarnation": 1, "generation": number,
            "event_date": date(2026, 11, 21), "time_ms": number, "protocol": OWN,
            "member_id": list(ids), "instance_id": [None] * len(ids), "process": list(ids),
            "subscription": [_subscription(member) for member in sent],
            "assignment": [assigned(Assignment(3, list(grouped(given[m])))) for m in ids],
            "last_ids": list(ids), "last_process": list(ids),
        }  # fmt: skip


def _subscription(sent: Any) -> bytes:
    owned = [(topic, list(numbers)) for topic, numbers in sent.owned]
    return subscribed(Subscription(3, list(sent.topics), None, owned, sent.field_generation))


def write(path: str, options: argparse.Namespace) -> None:
    rnd, total = random.Random(1), options.generations or 2 * options.groups
    most = total // 2 if options.skewed else 0
    others = (total - most) // options.groups
    with pq.ParquetWriter(path, SCHEMA) as file:
        for group in range(options.groups):
            count = most if group == 0 and most else others
            rows = life(f"group-{group}", count, range(*options.members), rnd)
            while part := [row for _, row in zip(range(2000), rows, strict=False)]:
                file.write_table(pa.Table.from_pylist(part, SCHEMA))


def in_process(path: str, assignors: tuple[str, ...], counts: PartitionCounts) -> float:
    """Generations a second of processor time, on the first some thousands."""
    frame = next(pq.ParquetFile(path).iter_batches(4000)).to_pandas()
    frame = frame.assign(chunk=frame.generation // CHUNK, carried=False)
    start = time.process_time()
    Rerun(assignors, counts)(frame)
    return len(frame) / (time.process_time() - start)


def through_spark(path: str, assignors: tuple[str, ...], counts: PartitionCounts) -> float:
    spark = build_session(load_config(None))
    generations = spark.read.parquet(path)
    total = generations.count()
    start = time.perf_counter()
    told = rerun(in_chunks(generations), assignors, counts, 1 + total // FRAME)
    told.write.format("noop").mode("overwrite").save()
    return total / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--generations", type=int, help="of all groups; default two a group")
    parser.add_argument("--members", type=int, nargs=2, default=(10, 11), metavar=("FROM", "TO"))
    parser.add_argument("--skewed", action="store_true", help="half of all in one group")
    parser.add_argument("--assignors", default=",".join(CLIENT_ASSIGNORS))
    options = parser.parse_args()
    assignors = tuple(options.assignors.split(","))
    counts = PartitionCounts((), [(topic, count, 0) for topic, count in COUNTS.items()])
    for name in assignors if not options.generations else ():
        print(f"{name:20} alone {throughput.measured(name):10,.0f} generations/s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/generations.parquet"
        write(path, options)
        print(f"{len(assignors)} assignors, steps and chains, decoding and quality included")
        print(f"one process {in_process(path, assignors, counts):10,.0f} generations/s", flush=True)
        print(f"Spark       {through_spark(path, assignors, counts):10,.0f} generations/s")


if __name__ == "__main__":
    main()
