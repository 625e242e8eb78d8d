"""Records of a consumer or a dump, as rows of the source `segments`.

Such records lack what a segment's batches have: message format, byte position, transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from jobs.bulk.unreadable import unreadable_records
from jobs.sources.rows import DateRange
from jobs.sources.segments import LAST_TIME_MS, TOPIC

# topic: null means __consumer_offsets.  aborted: part of an aborted transaction.  unread_bytes:
# length of unreadable bytes between records, null for a record.
RAW = pa.schema(
    [
        ("file", pa.string()),
        ("bytes", pa.int64()),
        ("position", pa.int64()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("log_offset", pa.int64()),
        ("time_ms", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("aborted", pa.bool_()),
        ("reason", pa.string()),
        ("unread_bytes", pa.int64()),
    ]
)
NO_MAGIC, NO_PRODUCER = -1, -1


def record_rows(raw: DataFrame, dates: DateRange) -> DataFrame:
    """Rows of RAW (further columns allowed) in the columns of the bronze tables, one row per input:
    `record`, `quarantined`, `skipped` (another topic) or `other date`."""
    return with_reasons(raw).select(
        _kind(dates).alias("kind"),
        "file",
        "position",
        _topic_partition().alias("topic_partition"),
        F.coalesce("log_offset", F.lit(-1)).cast("long").alias("log_offset"),
        _append_time().alias("append_time"),
        _event_date().alias("event_date"),
        "key",
        "value",
        F.conv(F.hex(F.substring("key", 1, 2)), 16, 10).cast("int").alias("key_type"),
        F.lit(NO_MAGIC).alias("magic"),
        _is_aborted().alias("is_transactional"),
        F.lit(NO_PRODUCER).cast("long").alias("producer_id"),
        F.when(_is_aborted(), "ABORT").alias("control"),
        "reason",
        F.coalesce("unread_bytes", _length("key") + _length("value")).cast("long").alias("length"),
        "unread_bytes",
        "bytes",
    )


def with_reasons(raw: DataFrame) -> DataFrame:
    """Fills in ``reason`` for records that cannot be decoded."""
    return raw.mapInArrow(_with_reasons, StructType(raw.schema.fields))


def counts(rows: DataFrame, size: Callable[[str], Column] = F.max) -> DataFrame:
    """Aggregates `record_rows` per file and log to the columns of ingested_files.

    ``skipped`` counts records of other topics and duplicates within a file.  ``size`` aggregates
    its rows' ``bytes`` to the file's size.
    """
    readable = F.col("kind").isin("record", "other date")
    bad = (F.col("kind") == "quarantined") & F.col("unread_bytes").isNull()
    by_date = (
        rows.groupBy("file", "topic_partition", "event_date")
        .agg(
            F.count_distinct(F.when(readable, F.col("log_offset"))).alias("kept"),
            F.count_if(F.col("unread_bytes").isNull()).alias("inputs"),
            F.count_distinct(F.when(bad, F.struct("position", "log_offset"))).alias("quarantined"),
            F.sum(F.coalesce("unread_bytes", F.lit(0))).alias("unreadable_bytes"),
            F.min(_if_offset()).alias("first_offset"),
            F.max("log_offset").alias("last_offset"),
            size("bytes").alias("bytes"),
        )
        .withColumn("entry", F.when(F.col("kept") > 0, F.struct("event_date", "kept")))
    )
    return by_date.groupBy("file", "topic_partition").agg(
        F.sum("inputs").alias("inputs"),
        F.map_from_entries(F.array_sort(F.collect_list("entry"))).alias("kept_by_date"),
        F.sum("quarantined").alias("quarantined"),
        F.sum(F.col("inputs") - F.col("kept") - F.col("quarantined")).alias("skipped"),
        F.sum("unreadable_bytes").alias("unreadable_bytes"),
        F.min("first_offset").alias("first_offset"),
        F.nullif(F.max("last_offset"), F.lit(-1)).cast("long").alias("last_offset"),
        size("bytes").alias("bytes"),
    )


def _with_reasons(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        reasons = batch.column("reason").to_pylist()
        undecided = pc.and_(batch.column("reason").is_null(), _of_topic(batch.column("topic")))
        rows = pc.indices_nonzero(undecided)
        keys, values = batch.column("key").take(rows), batch.column("value").take(rows)
        for index, reason in unreadable_records(keys, values).items():
            reasons[rows[index].as_py()] = reason
        column = batch.schema.get_field_index("reason")
        yield batch.set_column(column, batch.schema.field(column), pa.array(reasons, pa.string()))


def _of_topic(topics: pa.Array) -> pa.BooleanArray:
    return pc.fill_null(pc.equal(topics, TOPIC), True)


def _kind(dates: DateRange) -> Column:
    return (
        F.when(_is_other_topic(), "skipped")
        .when(F.col("reason").isNotNull(), "quarantined")
        .when(_is_in(dates), "record")
        .otherwise("other date")
    )


def _is_other_topic() -> Column:
    return F.coalesce(F.col("topic") != TOPIC, F.lit(False))


def _topic_partition() -> Column:
    """Null, by ``concat``, if the partition is null."""
    return F.when(~_is_other_topic(), F.concat(F.lit(f"{TOPIC}-"), "partition"))


def _is_in(dates: DateRange) -> Column:
    is_in = F.lit(True)
    if dates.first is not None:
        is_in &= _event_date() >= F.lit(dates.first)
    if dates.last is not None:
        is_in &= _event_date() <= F.lit(dates.last)
    return is_in | (_event_date() == F.lit("1970-01-01").cast("date"))


def _append_time() -> Column:
    is_time = F.col("time_ms").between(0, LAST_TIME_MS)
    return F.when(is_time, F.timestamp_millis("time_ms"))


def _event_date() -> Column:
    return F.coalesce(F.to_date(_append_time()), F.lit("1970-01-01").cast("date"))


def _is_aborted() -> Column:
    return F.coalesce("aborted", F.lit(False))


def _length(column: str) -> Column:
    return F.coalesce(F.length(column), F.lit(0))


def _if_offset() -> Column:
    return F.when(F.col("log_offset") >= 0, F.col("log_offset"))
