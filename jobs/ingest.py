"""Bronze tables: every input unchanged and exactly once.

reads   segment files, the topic of a running cluster, dumps, broker logs, traces of the engine
writes  offsets_records     one row per record of `__consumer_offsets`
        broker_log_events   one row per line of a coordinator's logger
        trace_events        one row per line of a trace
        quarantine          one row per unreadable input
        ingested_files      one row per file, or per topic partition of a dump or cluster, with
                            counts that add up
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.engine.keeping import kept
from jobs.lake.tables import Lake, schema_of
from jobs.sources import broker_log, raw_records, segments, trace
from jobs.sources.dump import Dump
from jobs.sources.kafka import COMMITTED, DeletedOffsets, Kafka, Offsets, TopicReader
from jobs.sources.rows import DateRange
from schemas import table_key

SEGMENTS, KAFKA, DUMP = "segments", "kafka", "dump"
_SUMMED = ("bytes", "inputs", "quarantined", "skipped", "unreadable_bytes")
_ADDED = (*_SUMMED, "kept_by_date", "first_offset", "last_offset")


@dataclass(frozen=True)
class Inputs:
    """The sources.  ``log_timezone`` is the time zone of the brokers' log lines."""

    segments: list[str] = field(default_factory=list)
    broker_logs: list[str] = field(default_factory=list)
    log_timezone: str = "UTC"
    dates: DateRange = field(default_factory=DateRange)
    dump: Dump | None = None
    kafka: Kafka | None = None
    traces: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        files = self.segments or self.broker_logs or self.traces
        return bool(files or self.dump or self.kafka)


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


def quarantined_lines(
    rows: DataFrame, cluster_id: str, source: str, file: str, reason: str
) -> DataFrame:
    """``file``, ``reason``: the columns of ``rows`` with the file and the reason."""
    return rows.where("kind = 'quarantined'").select(
        F.lit(cluster_id).alias("cluster_id"),
        F.lit(source).alias("source"),
        F.col(file).alias("file"),
        "position",
        F.lit(-1).cast("long").alias("log_offset"),
        F.lit(None).cast("string").alias("topic_partition"),
        F.col(reason).alias("reason"),
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
    """One row per topic partition in a file, and one for inputs without a partition."""
    counted = raw_records.counts(rows)
    return counted.select(
        F.lit(cluster_id).alias("cluster_id"),
        F.lit(DUMP).alias("source"),
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


def kafka_logs(rows: DataFrame, cluster_id: str, before: DataFrame) -> DataFrame:
    """The counts ``before`` plus those of a batch: one row per topic partition with new records.

    Only offsets above those counted are new, so a batch that is read again adds nothing.
    """
    counted = before.where(F.col("source") == KAFKA).select(
        "topic_partition", *(F.col(name).alias(f"old_{name}") for name in _ADDED)
    )
    new = rows.join(
        F.broadcast(counted.select("topic_partition", "old_last_offset")),
        on="topic_partition",
        how="left",
    ).where("old_last_offset IS NULL OR log_offset > old_last_offset")
    added = raw_records.counts(new, F.sum).join(counted, on="topic_partition", how="left")
    sums = {name: F.col(name) + F.coalesce(f"old_{name}", F.lit(0)) for name in _SUMMED}
    dates = F.map_zip_with(
        "kept_by_date",
        F.coalesce("old_kept_by_date", F.expr("CAST(MAP() AS MAP<DATE, BIGINT>)")),
        lambda _, new, old: F.coalesce(new, F.lit(0)) + F.coalesce(old, F.lit(0)),
    )
    return added.select(
        F.lit(cluster_id).alias("cluster_id"),
        F.lit(KAFKA).alias("source"),
        "file",
        F.col("file").alias("path"),
        "topic_partition",
        *(column.cast("long").alias(name) for name, column in sums.items()),
        F.map_from_entries(F.array_sort(F.map_entries(dates))).alias("kept_by_date"),
        F.coalesce("old_first_offset", "first_offset").alias("first_offset"),
        "last_offset",
    )


def trace_events(rows: DataFrame, cluster_id: str) -> DataFrame:
    return rows.where("kind = 'event'").select(
        F.lit(cluster_id).alias("cluster_id"),
        F.col("path").alias("file"),
        *_columns_of(rows, "trace_events"),
    )


def trace_files(rows: DataFrame, cluster_id: str) -> DataFrame:
    """All lines count under 1970-01-01, as virtual time has no date."""
    no_date = F.lit("1970-01-01").cast("date")
    return rows.where("kind = 'file'").select(
        F.lit(cluster_id).alias("cluster_id"),
        F.lit("trace").alias("source"),
        F.col("trace_id").alias("file"),
        "path",
        "bytes",
        "inputs",
        F.create_map(no_date, "kept").alias("kept_by_date"),
        "quarantined",
        "skipped",
        F.lit(0).cast("long").alias("unreadable_bytes"),
        F.lit(None).cast("string").alias("topic_partition"),
        F.lit(None).cast("long").alias("first_offset"),
        F.lit(None).cast("long").alias("last_offset"),
    )


def quarantined_gaps(lake: Lake, gaps: list[DeletedOffsets]) -> DataFrame:
    rows = [(f"{segments.TOPIC}-{gap.partition}", gap.first, gap.last) for gap in gaps]
    return lake.spark.createDataFrame(rows, "file STRING, first LONG, last LONG").select(
        F.lit(lake.cluster_id).alias("cluster_id"),
        F.lit(KAFKA).alias("source"),
        "file",
        F.lit(-1).cast("long").alias("position"),
        F.col("first").alias("log_offset"),
        F.col("file").alias("topic_partition"),
        F.concat(
            F.lit("deleted before it was read: offsets "), "first", F.lit(" to "), "last"
        ).alias("reason"),
        F.lit(0).cast("long").alias("length"),
        F.lit(None).cast("binary").alias("bytes"),
        F.lit(None).cast("binary").alias("value"),
        F.lit(None).cast("timestamp").alias("append_time"),
    )


def run(lake: Lake, inputs: Inputs) -> None:
    """Counts are written last: a file is in ingested_files only once its rows are stored."""
    if inputs.kafka:
        _run_kafka(lake, inputs.kafka)
    if inputs.dump:
        rows = raw_records.record_rows(inputs.dump.rows(lake.spark), inputs.dates)
        with kept(rows) as rows:
            _store_records(lake, rows, DUMP)
            lake.upsert("ingested_files", dump_files(rows, lake.cluster_id))
    if inputs.segments:
        rows = segments.read_segments(lake.spark, inputs.segments, inputs.dates)
        with kept(rows) as rows:
            _store_records(lake, rows, SEGMENTS)
            _store_counts(lake, segment_files(rows, lake.cluster_id))
    if inputs.traces:
        _run_traces(lake, inputs.traces)
    if inputs.broker_logs:
        rows = broker_log.read_broker_logs(
            lake.spark, inputs.broker_logs, inputs.log_timezone, inputs.dates
        )
        with kept(rows) as rows:
            _store_lines(lake, broker_log_events(rows, lake.cluster_id))
            bad = quarantined_lines(
                rows, lake.cluster_id, "broker_log", file="file_id", reason="reason_unreadable"
            )
            _store(lake, "quarantine", bad)
            _store_counts(lake, log_files(rows, lake.cluster_id))


def _run_kafka(lake: Lake, kafka: Kafka) -> None:
    """Reads all dates, as the next run continues where this one stopped."""
    reader = TopicReader(lake.spark, kafka, _checkpoint(lake))
    if reader.deleted:
        _store(lake, "quarantine", quarantined_gaps(lake, reader.deleted))

    def store(records: DataFrame, start: Offsets, end: Offsets) -> Offsets:
        rows = raw_records.record_rows(records, DateRange())
        with kept(rows) as rows:
            arrived = {int(p): n for p, n in rows.groupBy(_partition()).count().collect()}
            hidden = [p for p in end if end[p] - start[p] > arrived.get(p, 0)]
            if hidden and kafka.isolation == COMMITTED:
                ranges = ({p: offsets[p] for p in hidden} for offsets in (start, end))
                aborted = _aborted(reader.uncommitted(*ranges), rows)
                with kept(aborted) as aborted:
                    _store_batch(lake, rows.unionByName(aborted))
            else:
                _store_batch(lake, rows)
        return arrived

    reader.run(store)


def _checkpoint(lake: Lake) -> str:
    """A folder beside the tables; the cluster id is quoted, so it cannot name another folder."""
    cluster = quote(lake.cluster_id, safe="").replace(".", "%2E")
    return f"{lake.path('_checkpoints')}/{cluster}/offsets_records"


def _store_batch(lake: Lake, rows: DataFrame) -> None:
    _store_records(lake, rows, KAFKA)
    before = lake.read("ingested_files")
    lake.upsert("ingested_files", kafka_logs(rows, lake.cluster_id, before))


def _aborted(uncommitted: DataFrame, committed: DataFrame) -> DataFrame:
    """Records below the last stable offset that a read_committed consumer does not receive."""
    rows = raw_records.record_rows(uncommitted.withColumn("aborted", F.lit(True)), DateRange())
    return rows.join(
        committed.select("topic_partition", "log_offset"),
        on=["topic_partition", "log_offset"],
        how="left_anti",
    ).select(*committed.columns)


def _partition() -> Column:
    return F.substring_index("topic_partition", "-", -1)


def _run_traces(lake: Lake, files: list[str]) -> None:
    rows = trace.read_traces(lake.spark, files)
    with kept(rows) as rows:
        _store(lake, "trace_events", trace_events(rows, lake.cluster_id))
        bad = quarantined_lines(rows, lake.cluster_id, "trace", file="trace_id", reason="reason")
        _store(lake, "quarantine", bad)
        _store_counts(lake, trace_files(rows, lake.cluster_id))


def _store_records(lake: Lake, rows: DataFrame, source: str) -> None:
    table = "offsets_records"
    # A record has the same time from every broker; an exporter may round it or change its zone.
    time = None if source == DUMP or _holds_any(lake, DUMP) else "append_time"
    new = offsets_records(rows, lake.cluster_id, source).dropDuplicates(table_key(table))
    if source == SEGMENTS and (time is None or _holds_any(lake, KAFKA)):
        # A segment has more details of a record than a consumer or an export.
        lake.upsert(table, new, if_=f"t.source <> '{SEGMENTS}'", timed_by=time)
    else:
        lake.insert_new(table, new, timed_by=time)
    _store(lake, "quarantine", quarantined_records(rows, lake.cluster_id, source))


def _holds_any(lake: Lake, source: str) -> bool:
    """Whether the table has records from ``source``, also of a run that was killed before it wrote
    its counts.  Delta skips files by their minimum and maximum source."""
    return not lake.read("offsets_records").where(F.col("source") == source).isEmpty()


def _store(lake: Lake, table: str, rows: DataFrame) -> None:
    # Two files may have the same record or line, with the same key.
    lake.insert_new(table, rows.dropDuplicates(table_key(table)))


def _store_lines(lake: Lake, rows: DataFrame) -> None:
    """Overwrite the times of a log that is read again in another time zone."""
    table = "broker_log_events"
    if lake.has(table):
        new = rows.dropDuplicates(table_key(table))
        lake.upsert(table, new, if_="NOT t.event_time <=> n.event_time")
    else:
        _store(lake, table, rows)


def _store_counts(lake: Lake, files: DataFrame) -> None:
    lake.upsert("ingested_files", _largest(files), if_="n.inputs >= t.inputs")


def _largest(files: DataFrame) -> DataFrame:
    """One row per file: if a log was read as an older and a newer copy, the longer copy counts."""
    newest = files.groupBy(*table_key("ingested_files")).agg(
        F.max_by(F.struct(*files.columns), "inputs").alias("file_row")
    )
    return newest.select("file_row.*")


def _columns_of(
    rows: DataFrame, table: str, without: frozenset[str] | set[str] = frozenset()
) -> list[str]:
    return [name for name in schema_of(table).names if name in rows.columns and name not in without]
