"""Bronze: everything that was left behind, as it came, each input once.

reads   segment files, broker logs
writes  offsets_records     one row per record of `__consumer_offsets`
        broker_log_events   one row per line of a coordinator's logger
        quarantine          one row per thing that could not be read
        ingested_files      one row per file, with counts that add up
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.sources import broker_log, segments
from jobs.sources.rows import DateRange
from jobs.tables import Lake, schema_of
from schemas import table_key


@dataclass(frozen=True)
class Inputs:
    """Where to read from.  ``log_timezone`` is the zone of the brokers' log lines."""

    segments: list[str] = field(default_factory=list)
    broker_logs: list[str] = field(default_factory=list)
    log_timezone: str = "UTC"
    dates: DateRange = field(default_factory=DateRange)


def offsets_records(rows: DataFrame, cluster_id: str) -> DataFrame:
    return rows.where("kind = 'record'").select(
        F.lit(cluster_id).alias("cluster_id"),
        F.coalesce(F.to_date("append_time"), F.lit("1970-01-01").cast("date")).alias("event_date"),
        F.lit("segments").alias("source"),
        *_columns_of(rows, "offsets_records"),
    )


def broker_log_events(rows: DataFrame, cluster_id: str) -> DataFrame:
    return rows.where("kind = 'event'").select(
        F.lit(cluster_id).alias("cluster_id"),
        F.to_date("event_time").alias("event_date"),
        F.col("path").alias("file"),
        *_columns_of(rows, "broker_log_events"),
    )


def quarantined_segments(rows: DataFrame, cluster_id: str) -> DataFrame:
    return rows.where("kind = 'quarantined'").select(
        F.lit(cluster_id).alias("cluster_id"),
        F.lit("segments").alias("source"),
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
        F.lit("segments").alias("source"),
        F.col("file").alias("path"),
        F.lit(0).cast("long").alias("skipped"),
        *_columns_of(rows, "ingested_files"),
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
    if inputs.segments:
        rows = segments.read_segments(lake.spark, inputs.segments, inputs.dates)
        _land(lake, rows, offsets_records, quarantined_segments, segment_files)
    if inputs.broker_logs:
        rows = broker_log.read_broker_logs(
            lake.spark, inputs.broker_logs, inputs.log_timezone, inputs.dates
        )
        _land(lake, rows, broker_log_events, quarantined_lines, log_files)


def _land(lake: Lake, rows: DataFrame, bronze, quarantine, files) -> None:  # type: ignore[no-untyped-def]
    """Three tables out of one reading.  Counts last: a file is listed once its rows are there."""
    rows = rows.persist(StorageLevel.DISK_ONLY)
    try:
        for transform, table in ((bronze, bronze.__name__), (quarantine, "quarantine")):
            # The same record or line may come by two files; their keys say so.
            new = transform(rows, lake.cluster_id).dropDuplicates(table_key(table))
            lake.insert_new(table, new)
        lake.upsert(
            "ingested_files", _largest(files(rows, lake.cluster_id)), if_="n.inputs >= t.inputs"
        )
    finally:
        rows.unpersist()


def _largest(files: DataFrame) -> DataFrame:
    """One row a file: a log that is there twice, still written to and rolled, counts as it grew."""
    newest = files.groupBy(*table_key("ingested_files")).agg(
        F.max_by(F.struct(*files.columns), "inputs").alias("file_row")
    )
    return newest.select("file_row.*")


def _columns_of(rows: DataFrame, table: str, without: frozenset[str] | set[str] = frozenset()):  # type: ignore[no-untyped-def]
    return [name for name in schema_of(table).names if name in rows.columns and name not in without]
