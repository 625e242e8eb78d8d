"""``regroup simulate --lake``: a fleet of any size, played by Spark, straight into bronze.

reads   a fleet's spec
writes  offsets_records, broker_log_events, ingested_files

A task plays the groups of some partitions of `__consumer_offsets`: nothing of one partition hangs
on another.  What a broker would leave on disk of that partition goes through the readers of segment
files and logs, and no further than the worker.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from coordinator_core.simulation import Fleet
from jobs import ingest
from jobs.lake.tables import Lake
from jobs.simulate.command import Spec, write
from jobs.sources import broker_log, segments
from jobs.sources.rows import DateRange

# A row is one of a segment's, or one of a log's.
ROWS = pa.schema(
    [
        ("of_segment", pa.struct(list(segments.ROWS))),
        ("of_log", pa.struct(list(broker_log.ROWS))),
    ]
)
_PATHS = frozenset({"file", "path"})


@dataclass(frozen=True)
class Counts:
    """What came into the lake."""

    groups: int
    records: int
    lines: int


def of_size(fleet: Fleet, groups: int) -> Fleet:
    """So many groups: those of the fleet over and over, each time under another name."""
    kinds = fleet.groups
    made = [
        replace(kind, name=f"{kind.name}-{n // len(kinds) + 1}")
        for n, kind in ((n, kinds[n % len(kinds)]) for n in range(groups))
    ]
    return replace(fleet, groups=tuple(made))


def run(lake: Lake, spec: Spec, seed: int) -> Counts:
    """Plays the fleet into the lake; what is there already stays as it is."""
    rows = played(lake, spec, seed)
    rows.persist(StorageLevel.DISK_ONLY)
    try:
        of_segments = rows.where("of_segment IS NOT NULL").select("of_segment.*")
        of_logs = rows.where("of_log IS NOT NULL").select("of_log.*")
        cluster_id = lake.cluster_id
        lake.insert_new("offsets_records", ingest.offsets_records(of_segments, cluster_id))
        lake.insert_new("broker_log_events", ingest.broker_log_events(of_logs, cluster_id))
        lake.insert_new("ingested_files", ingest.segment_files(of_segments, cluster_id))
        lake.insert_new("ingested_files", ingest.log_files(of_logs, cluster_id))
        kinds = F.coalesce("of_segment.kind", "of_log.kind")
        counts = {row[0]: row[1] for row in rows.groupBy(kinds).count().collect()}
    finally:
        rows.unpersist()
    return Counts(len(spec.fleet.groups), counts.get("record", 0), counts.get("event", 0))


def played(lake: Lake, spec: Spec, seed: int) -> DataFrame:
    """ROWS of the whole fleet, a task a partition of `__consumer_offsets`."""
    cluster_id = lake.cluster_id

    def play(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for partition in batch.column("partition").to_pylist():
                yield from partition_rows(spec, seed, partition, cluster_id)

    count = spec.fleet.cluster.config.offsets_topic_partitions
    numbers = lake.spark.range(0, count, 1, count).withColumnRenamed("id", "partition")
    return numbers.mapInArrow(play, from_arrow_schema(ROWS))


def partition_rows(
    spec: Spec, seed: int, partition: int, cluster_id: str
) -> Iterator[pa.RecordBatch]:
    """Batches of ROWS for the groups of one partition."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write(spec, folder, seed, only=frozenset([partition]), traces=False)
        for file in sorted(folder.glob("segments/*/*.log")):
            name = f"simulation://{cluster_id}/{file.relative_to(folder)}"
            for batch in segments.segment_rows(str(file), DateRange()):
                yield _as(0, _renamed(batch, name))
        for file in sorted(folder.glob("server*.log")):
            name = f"simulation://{cluster_id}/partition-{partition}/{file.name}"
            for batch in broker_log.log_rows(str(file), "UTC", DateRange()):
                yield _as(1, _renamed(batch, name))


def _renamed(batch: pa.RecordBatch, name: str) -> pa.RecordBatch:
    """The file was of a folder that is gone."""
    for place, field in enumerate(batch.schema):
        if field.name in _PATHS:
            batch = batch.set_column(place, field, pa.repeat(pa.scalar(name), batch.num_rows))
    return batch


def _as(place: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [pa.nulls(batch.num_rows, field.type) for field in ROWS]
    fields = [ROWS.field(place).type.field(n) for n in range(batch.num_columns)]
    columns[place] = pa.StructArray.from_arrays(batch.columns, fields=fields)
    return pa.RecordBatch.from_arrays(columns, schema=ROWS)
