"""``regroup simulate --lake``: simulates a fleet of any size with Spark, into bronze tables.

reads   a fleet's spec
writes  offsets_records, broker_log_events, ingested_files

Partitions of `__consumer_offsets` are independent of each other, so each task simulates the groups
of some partitions.  The task writes their segment files and logs to a temporary folder, reads them
with the usual readers and deletes them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from coordinator_core.simulation import Fleet
from jobs.bronze import counts
from jobs.bronze.source_names import SEGMENTS
from jobs.bronze.table_rows import LOG_EVENTS, records
from jobs.engine.keeping import kept
from jobs.lake.dates import DateRange
from jobs.lake.tables import Lake
from jobs.simulate.output_files import write
from jobs.simulate.spec_file import SimulationSpec
from jobs.sources.broker_logs import broker_log
from jobs.sources.topic import segments

# A row is from a segment file or from a log.
ROWS = pa.schema(
    [
        ("of_segment", pa.struct(list(segments.ROWS))),
        ("of_log", pa.struct(list(broker_log.ROWS))),
    ]
)
_PATHS = frozenset({"file", "path"})


@dataclass(frozen=True)
class SimulatedCounts:
    """Numbers of groups simulated, and of records and log lines written."""

    groups: int
    records: int
    lines: int


def with_group_count(fleet: Fleet, groups: int) -> Fleet:
    """The fleet with this number of groups: its own groups repeated, under numbered names."""
    kinds = fleet.groups
    repeated = [
        replace(kind, name=f"{kind.name}-{n // len(kinds) + 1}")
        for n, kind in ((n, kinds[n % len(kinds)]) for n in range(groups))
    ]
    return replace(fleet, groups=tuple(repeated))


def run(lake: Lake, spec: SimulationSpec, seed: int) -> SimulatedCounts:
    """Simulate the fleet into the lake; existing rows stay as they are."""
    with kept(simulated_rows(lake, spec, seed)) as rows:
        of_segments = rows.where("of_segment IS NOT NULL").select("of_segment.*")
        of_logs = rows.where("of_log IS NOT NULL").select("of_log.*")
        cluster_id = lake.cluster_id
        of_topic = records(SEGMENTS).frame(of_segments, cluster_id)
        lake.insert_new("offsets_records", of_topic)
        lake.insert_new("broker_log_events", LOG_EVENTS.frame(of_logs, cluster_id))
        lake.insert_new("ingested_files", counts.segment_files(of_segments, cluster_id))
        lake.insert_new("ingested_files", counts.log_files(of_logs, cluster_id))
        kinds = F.coalesce("of_segment.kind", "of_log.kind")
        of_kind = {row[0]: row[1] for row in rows.groupBy(kinds).count().collect()}
    return SimulatedCounts(
        len(spec.fleet.groups), of_kind.get("record", 0), of_kind.get("event", 0)
    )


def simulated_rows(lake: Lake, spec: SimulationSpec, seed: int) -> DataFrame:
    """ROWS of the fleet, one task per partition of `__consumer_offsets`."""
    cluster_id = lake.cluster_id

    def simulate(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for partition in batch.column("partition").to_pylist():
                yield from partition_rows(spec, seed, partition, cluster_id)

    count = spec.fleet.cluster.config.offsets_topic_partitions
    numbers = lake.spark.range(0, count, 1, count).withColumnRenamed("id", "partition")
    return numbers.mapInArrow(simulate, from_arrow_schema(ROWS))


def partition_rows(
    spec: SimulationSpec, seed: int, partition: int, cluster_id: str
) -> Iterator[pa.RecordBatch]:
    """Batches of ROWS for the groups of one partition."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
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
    """Replace the path of the temporary file by ``name``."""
    for index, field in enumerate(batch.schema):
        if field.name in _PATHS:
            batch = batch.set_column(index, field, pa.repeat(pa.scalar(name), batch.num_rows))
    return batch


def _as(kind: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch as ROWS; ``kind`` is 0 for rows of a segment, 1 for rows of a log."""
    columns = [pa.nulls(batch.num_rows, field.type) for field in ROWS]
    fields = [ROWS.field(kind).type.field(n) for n in range(batch.num_columns)]
    columns[kind] = pa.StructArray.from_arrays(batch.columns, fields=fields)
    return pa.RecordBatch.from_arrays(columns, schema=ROWS)
