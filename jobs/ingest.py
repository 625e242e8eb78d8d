"""Bronze: everything that was left behind, as it came, each input once.

reads   segment files, dumps, broker logs
writes  offsets_records     one row per record of `__consumer_offsets`
        broker_log_events   one row per line of a coordinator's logger
        quarantine          one row per thing that could not be read
        ingested_files      one row per file (of a dump per file and log), with counts that add up
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.sources import broker_log, raw_records, segments
from jobs.sources.dump import Dump
from jobs.sources.rows import DateRange
from jobs.tables import Lake, schema_of
from schemas import table_key

SEGMENTS = "segments"


@dataclass(frozen=True)
class Inputs:
    """Where to read from.  ``log_timezone`` is the zone of the brokers' log lines."""

    segments: list[str] = field(default_factory=list)
    broker_logs: list[str] = field(default_factory=list)
    log_timezone: str = "UTC"
    dates: DateRange = field(default_factory=DateRange)
    dump: Dump | None = None

    def __bool__(self) -> bool:
        return bool(self.segments or self.broker_logs or self.dump)


def offsets_records(rows: DataFrame, cluster_id: str, source: str = SEGMENTS) -> DataFrame:
    return rows.where("kind = 'record'").select(
        F.lit(cluster_id).alias("cluster_id"),
        F.coalesce(F.to_date("append_time"), F.lit("1970-01-01").cast("date")).alias("event_date"),
        F.lit(source).alias("source"),
        *_columns_of(rows, "offsets_records", without={"event_date"}),
    )


def broker_log_events(rows: DataFrame, cluster_id: str) -> DataFrame:
    return rows.where("kind = 'event'").select(
        F.lit(cluster_id).alias("cluster_id"),
        F.to_date("event_time").alias("event_date"),
        F.col("path").alias("file"),
        *_columns_of(rows, "broker_log_events"),
    )


def quarantined_records(rows: DataFrame, cluster_id: str, source: str = SEGMENTS) -> DataFrame:
    return rows.where("kind = 'quarantined'").select(
        F.lit(cluster_id).alias("cluster_id"),
        F.lit(source).alias("source"),
        F.col("key").alias("bytes"),
        *_columns_of(rows, "quarantine", without={"bytes"}),
    )


def quarantined_lines(rows: DataFrame, cluster_id: str) -> DataFrame:
    return rows.where("kind = 'quarantined'").select(
        F.lit(cluster_id).alias("cluster_id"),
        F.lit("broker_log").alias("source"),
        F.col("file_id").alias("file"),
        "position",
        F.lit(-1).cast("long").alias("log_offset"),
        F.lit(None).cast("string").alias("topic_partition"),
        F.col("reason_unreadable").alias("reason"),
        F.length("raw").cast("long").alias("length"),
        F.col("raw").alias("bytes"),
        F.lit(None).cast("binary").alias("value"),
        F.lit(None).cast("timestamp").alias("append_time"),
    )


def segment_files(rows: DataFrame, cluster_id: str) -> DataFrame:
    return rows.where("kind = 'file'").select(
        F.lit(cluster_id).alias("cluster_id"),
        F.lit(SEGMENTS).alias("source"),
        F.col("file").alias("path"),
        F.lit(0).cast("long").alias("skipped"),
        *_columns_of(rows, "ingested_files"),
    )


def dump_files(rows: DataFrame, cluster_id: str) -> DataFrame:
    """A file holds records of several logs: a row each, and one for what is of no log."""
    counted = raw_records.counts(rows)
    return counted.select(
        F.lit(cluster_id).alias("cluster_id"),
        F.lit("dump").alias("source"),
        F.concat_ws("#", "file", "topic_partition").alias("file"),
        F.col("file").alias("path"),
        *_columns_of(counted, "ingested_files", without={"file"}),
    )


def log_files(rows: DataFrame, cluster_id: str) -> DataFrame:
    return rows.where("kind = 'file'").select(
        F.lit(cluster_id).alias("cluster_id"),
        F.lit("broker_log").alias("source"),
        F.col("file_id").alias("file"),
        F.lit(0).cast("long").alias("unreadable_bytes"),
        F.lit(None).cast("string").alias("topic_partition"),
        F.lit(None).cast("long").alias("first_offset"),
        F.lit(None).cast("long").alias("last_offset"),
        "bytes",
        "inputs",
        "kept_by_date",
        "quarantined",
        "skipped",
        "path",
    )


def run(lake: Lake, inputs: Inputs) -> None:
    if inputs.dump:
        rows = raw_records.record_rows(inputs.dump.rows(lake.spark), inputs.dates)
        with _kept(rows):
            _land_records(lake, rows, "dump")
            lake.upsert("ingested_files", dump_files(rows, lake.cluster_id))
    if inputs.segments:
        rows = segments.read_segments(lake.spark, inputs.segments, inputs.dates)
        with _kept(rows):
            _land_records(lake, rows, SEGMENTS)
            _land_counts(lake, segment_files(rows, lake.cluster_id))
    if inputs.broker_logs:
        rows = broker_log.read_broker_logs(
            lake.spark, inputs.broker_logs, inputs.log_timezone, inputs.dates
        )
        with _kept(rows):
            _land(lake, "broker_log_events", broker_log_events(rows, lake.cluster_id))
            _land(lake, "quarantine", quarantined_lines(rows, lake.cluster_id))
            _land_counts(lake, log_files(rows, lake.cluster_id))


@contextmanager
def _kept(rows: DataFrame) -> Iterator[None]:
    """Three tables out of one reading.  Counts last: a file is listed once its rows are there."""
    rows.persist(StorageLevel.DISK_ONLY)
    try:
        yield
    finally:
        rows.unpersist()


def _land_records(lake: Lake, rows: DataFrame, source: str) -> None:
    records = offsets_records(rows, lake.cluster_id, source)
    if source == SEGMENTS and _has_other_sources(lake):
        # What the log itself says of a record is more than a consumer was told.
        new = records.dropDuplicates(table_key("offsets_records"))
        lake.upsert("offsets_records", new, if_=f"t.source <> '{SEGMENTS}'")
    else:
        _land(lake, "offsets_records", records)
    _land(lake, "quarantine", quarantined_records(rows, lake.cluster_id, source))


def _has_other_sources(lake: Lake) -> bool:
    return not lake.read("ingested_files").where("source IN ('kafka', 'dump')").isEmpty()


def _land(lake: Lake, table: str, rows: DataFrame) -> None:
    # The same record or line may come by two files; their keys say so.
    lake.insert_new(table, rows.dropDuplicates(table_key(table)))


def _land_counts(lake: Lake, files: DataFrame) -> None:
    lake.upsert("ingested_files", _largest(files), if_="n.inputs >= t.inputs")


def _largest(files: DataFrame) -> DataFrame:
    """One row a file: a log that is there twice, still written to and rolled, counts as it grew."""
    newest = files.groupBy(*table_key("ingested_files")).agg(
        F.max_by(F.struct(*files.columns), "inputs").alias("file_row")
    )
    return newest.select("file_row.*")


def _columns_of(rows: DataFrame, table: str, without: frozenset[str] | set[str] = frozenset()):  # type: ignore[no-untyped-def]
    return [name for name in schema_of(table).names if name in rows.columns and name not in without]
