"""Records that come one by one, from a consumer or a dump, as rows of the source `segments`.

What a log says about its batches is not there: the message format, byte positions, transactions.
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

# topic may be null: it is ours then.  aborted: known to be of an aborted transaction.
#  unread_bytes: of a stretch that is no record, else null.
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
    """Rows of RAW (and columns beyond it) -> a row each: `record`, `quarantined`, `skipped` (of
    another topic) or `other date`, in the columns that the bronze tables take."""
    judged = judge(raw)
    return judged.select(
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


def judge(raw: DataFrame) -> DataFrame:
    """``reason`` filled in for records that cannot be understood."""
    return raw.mapInArrow(_judged, StructType(raw.schema.fields))


def counts(rows: DataFrame, size: Callable[[str], Column] = F.max) -> DataFrame:
    """One row a file and log of `record_rows`: what ingested_files says of it.

    Of another topic, or there before in the same file: skipped.  ``size`` makes the size of the
    file out of its rows' ``bytes``.
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


def _judged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        reasons = batch.column("reason").to_pylist()
        to_judge = pc.and_(batch.column("reason").is_null(), _are_ours(batch.column("topic")))
        rows = pc.indices_nonzero(to_judge)
        found = unreadable_records(batch.column("key").take(rows), batch.column("value").take(rows))
        for index, reason in found.items():
            reasons[rows[index].as_py()] = reason
        at = batch.schema.get_field_index("reason")
        yield batch.set_column(at, batch.schema.field(at), pa.array(reasons, pa.string()))


def _are_ours(topics: pa.Array) -> pa.BooleanArray:
    return pc.fill_null(pc.equal(topics, TOPIC), True)


def _kind(dates: DateRange) -> Column:
    return (
        F.when(_is_foreign(), "skipped")
        .when(F.col("reason").isNotNull(), "quarantined")
        .when(_is_wanted(dates), "record")
        .otherwise("other date")
    )


def _is_foreign() -> Column:
    return F.coalesce(F.col("topic") != TOPIC, F.lit(False))


def _topic_partition() -> Column:
    """Null (as ``concat`` makes it) where the partition is."""
    return F.when(~_is_foreign(), F.concat(F.lit(f"{TOPIC}-"), "partition"))


def _is_wanted(dates: DateRange) -> Column:
    wanted = F.lit(True)
    if dates.first is not None:
        wanted &= _event_date() >= F.lit(dates.first)
    if dates.last is not None:
        wanted &= _event_date() <= F.lit(dates.last)
    return wanted | (_event_date() == F.lit("1970-01-01").cast("date"))


def _append_time() -> Column:
    there_is = F.col("time_ms").between(0, LAST_TIME_MS)
    return F.when(there_is, F.timestamp_millis("time_ms"))


def _event_date() -> Column:
    return F.coalesce(F.to_date(_append_time()), F.lit("1970-01-01").cast("date"))


def _is_aborted() -> Column:
    return F.coalesce("aborted", F.lit(False))


def _length(column: str) -> Column:
    return F.coalesce(F.length(column), F.lit(0))


def _if_offset() -> Column:
    return F.when(F.col("log_offset") >= 0, F.col("log_offset"))
