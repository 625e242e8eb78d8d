"""Records of a consumer or a dump, as rows of the bronze tables.

Such records lack what a segment's batches have: message format, byte position, transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.bulk.times import times_of
from jobs.bulk.unreadable import unreadable_records
from jobs.lake.dates import DateRange
from jobs.sources.topic.segments import TOPIC, are_in, days_of, key_types

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
# One row per input: `record`, `quarantined`, `skipped` (another topic) or `other date`.
ROWS = pa.schema(
    [
        ("kind", pa.string()),
        ("file", pa.string()),
        ("position", pa.int64()),
        ("topic_partition", pa.string()),
        ("log_offset", pa.int64()),
        ("append_time", pa.timestamp("us", tz="UTC")),
        ("event_date", pa.date32()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("key_type", pa.int32()),
        ("magic", pa.int32()),
        ("is_transactional", pa.bool_()),
        ("producer_id", pa.int64()),
        ("control", pa.string()),
        ("reason", pa.string()),
        ("length", pa.int64()),
        ("unread_bytes", pa.int64()),
        ("bytes", pa.int64()),
    ]
)
COUNTED = (
    "kind",
    "file",
    "topic_partition",
    "log_offset",
    "position",
    "event_date",
    "unread_bytes",
    "bytes",
)
NO_MAGIC, NO_PRODUCER = -1, -1


def record_frame(raw: DataFrame, dates: DateRange) -> DataFrame:
    """ROWS of a frame of RAW, by Spark's workers."""
    return raw.mapInArrow(partial(_all_record_rows, dates=dates), from_arrow_schema(ROWS))


def _all_record_rows(
    batches: Iterable[pa.RecordBatch], dates: DateRange
) -> Iterator[pa.RecordBatch]:
    return (record_rows(batch, dates) for batch in batches)


def record_rows(raw: pa.RecordBatch, dates: DateRange) -> pa.RecordBatch:
    """ROWS of a batch of RAW."""
    is_of_topic = pc.fill_null(pc.equal(raw.column("topic"), TOPIC), True)
    times = times_of(pc.fill_null(raw.column("time_ms"), -1))
    days = days_of(times)
    reasons = _reasons(raw, is_of_topic)
    kinds = _kinds(is_of_topic, reasons, are_in(dates, days))
    is_aborted = pc.fill_null(raw.column("aborted"), False)
    partition = raw.column("partition").cast(pa.string())
    log = pc.if_else(is_of_topic, pc.binary_join_element_wise(TOPIC, partition, "-"), None)
    values = {
        "kind": kinds,
        "topic_partition": log,
        "log_offset": pc.fill_null(raw.column("log_offset"), -1),
        "append_time": times,
        "event_date": days.cast(pa.int32()).cast(pa.date32()),
        "key_type": _key_types_of_records(raw.column("key"), kinds),
        "magic": pa.repeat(NO_MAGIC, raw.num_rows),
        "is_transactional": is_aborted,
        "producer_id": pa.repeat(NO_PRODUCER, raw.num_rows),
        "control": pc.if_else(is_aborted, "ABORT", None),
        "reason": reasons,
        "length": pc.coalesce(
            raw.column("unread_bytes"), pc.add(_length(raw, "key"), _length(raw, "value"))
        ),
    }
    unchanged = {name: raw.column(name) for name in RAW.names if name in ROWS.names}
    columns = unchanged | values
    arrays = [columns[column.name].cast(column.type) for column in ROWS]
    return pa.RecordBatch.from_arrays(arrays, schema=ROWS)


def counted(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The columns from which `counts` are computed."""
    return rows.select(list(COUNTED))


def counts(rows: DataFrame, size: Callable[[str], Column] = F.max) -> DataFrame:
    """Aggregates ROWS per file and log to the columns of ingested_files.

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


def _reasons(raw: pa.RecordBatch, is_of_topic: pa.BooleanArray) -> pa.StringArray:
    """The reasons of the rows, including records that cannot be decoded."""
    reasons = raw.column("reason").to_pylist()
    undecided = pc.and_(raw.column("reason").is_null(), is_of_topic)
    rows = pc.indices_nonzero(undecided)
    keys, values = raw.column("key").take(rows), raw.column("value").take(rows)
    for index, reason in unreadable_records(keys, values).items():
        reasons[rows[index].as_py()] = reason
    return pa.array(reasons, pa.string())


def _kinds(
    is_of_topic: pa.BooleanArray, reasons: pa.StringArray, is_in: pa.BooleanArray
) -> pa.StringArray:
    readable = pc.if_else(is_in, "record", "other date")
    of_topic = pc.if_else(reasons.is_valid(), "quarantined", readable)
    return pc.if_else(is_of_topic, of_topic, "skipped")


def _key_types_of_records(keys: pa.BinaryArray, kinds: pa.StringArray) -> pa.Int32Array:
    is_record = pc.equal(kinds, "record")
    return pc.if_else(is_record, key_types(keys), None)


def _length(raw: pa.RecordBatch, column: str) -> pa.Int64Array:
    return pc.fill_null(pc.binary_length(raw.column(column)), 0).cast(pa.int64())


def _if_offset() -> Column:
    return F.when(F.col("log_offset") >= 0, F.col("log_offset"))
