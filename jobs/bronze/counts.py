"""Rows of ingested_files, computed by DataFrame functions from what a source counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.bronze.source_names import BROKER_LOG, DUMP, END_OFFSETS, KAFKA, SEGMENTS, TRACE
from jobs.bronze.table_rows import NO_DATE
from jobs.lake.tables import schema_of
from jobs.sources.topic import raw_records
from schemas import table_key

TABLE = "ingested_files"
_SUMMED = ("bytes", "inputs", "quarantined", "skipped", "unreadable_bytes")
_SUMMED_OF_LOGS = (
    *("bytes", "inputs", "quarantined", "skipped"),
    *("not_understood", "undated", "steps_back"),
)
_OF_LOGS = ("not_understood", "undated", "steps_back", "examples", "software")
_ADDED = (*_SUMMED, "kept_by_date", "first_offset", "last_offset")


def segment_files(rows: DataFrame, cluster_id: str) -> DataFrame:
    return _files(
        rows.where("kind = 'file'"),
        cluster_id,
        SEGMENTS,
        path=F.col("file"),
    )


def dump_files(rows: DataFrame, cluster_id: str) -> DataFrame:
    """One row per topic partition in a file, and one row for inputs without a partition."""
    return _files(
        raw_records.counts(rows),
        cluster_id,
        DUMP,
        file=F.concat_ws("#", "file", "topic_partition"),
        path=F.col("file"),
    )


def log_files(rows: DataFrame, cluster_id: str, source: str = BROKER_LOG) -> DataFrame:
    """Sums the counts of a file's ranges."""
    ranges = rows.where("kind = 'file'")
    key = ["path", "file_id"]
    sums = ranges.groupBy(*key).agg(
        *(F.sum(name).alias(name) for name in _SUMMED_OF_LOGS),
        F.min("examples").alias("examples"),
        F.when(
            F.max("software").isNotNull(),
            F.array_join(F.sort_array(F.collect_set("software")), "\n"),
        ).alias("software"),
    )
    return _files(
        sums.join(_days_summed(ranges, key), on=key, how="left"),
        cluster_id,
        source,
        file=F.col("file_id"),
        kept_by_date=F.coalesce("kept_by_date", _no_days()),
        unreadable_bytes=F.lit(0),
        **_no_records(),
    )


def trace_files(rows: DataFrame, cluster_id: str) -> DataFrame:
    """All lines count under NO_DATE, because virtual time has no date."""
    return _files(
        rows.where("kind = 'file'"),
        cluster_id,
        TRACE,
        file=F.col("trace_id"),
        kept_by_date=F.create_map(F.lit(NO_DATE), "kept"),
        unreadable_bytes=F.lit(0),
        **_no_records(),
    )


def end_offset_files(rows: DataFrame, cluster_id: str) -> DataFrame:
    return _files(
        rows.where("kind = 'file'"),
        cluster_id,
        END_OFFSETS,
        file=F.col("file_id"),
        unreadable_bytes=F.lit(0),
        **_no_records(),
    )


def kafka_logs(
    rows: DataFrame, cluster_id: str, before: DataFrame, reached: DataFrame
) -> DataFrame:
    """The counts ``before`` plus the counts of a slice, with the next offsets: one row per topic
    partition of ``reached``, unless the partition never had a record.

    Only offsets above the counted offsets are new, so a slice that is read again adds nothing.
    """
    key = ["topic_partition"]
    counted = before.where(F.col("source") == KAFKA).select(
        *key, *(F.col(name).alias(f"old_{name}") for name in _ADDED)
    )
    new = rows.join(F.broadcast(counted.select(*key, "old_last_offset")), on=key, how="left").where(
        "old_last_offset IS NULL OR log_offset > old_last_offset"
    )
    added = raw_records.counts(new, F.sum)
    kept = added.select(*key, "kept_by_date").unionByName(
        counted.select(*key, F.col("old_kept_by_date").alias("kept_by_date"))
    )
    both = (
        reached.join(added.drop("file", "kept_by_date"), on=key, how="left")
        .join(counted.drop("old_kept_by_date"), on=key, how="left")
        .where("inputs IS NOT NULL OR old_inputs IS NOT NULL")
        .join(_days_summed(kept, key), on=key, how="left")
    )
    sums = {
        name: F.coalesce(name, F.lit(0)) + F.coalesce(f"old_{name}", F.lit(0)) for name in _SUMMED
    }
    return _files(
        both,
        cluster_id,
        KAFKA,
        file=F.col("topic_partition"),
        path=F.col("topic_partition"),
        kept_by_date=F.coalesce("kept_by_date", _no_days()),
        first_offset=F.coalesce("old_first_offset", "first_offset"),
        last_offset=F.coalesce("last_offset", "old_last_offset"),
        next_offset=F.col("next_offset"),
        **sums,
    )


def changed(
    files: DataFrame, stored: DataFrame, copies: Mapping[str, list[str]]
) -> list[list[Any]]:
    """The rows to store: rows of ``files`` that are new, or that differ and do not have fewer
    inputs.

    There is one row per file: if an older and a newer copy of a log were read, the longer copy
    counts.  ``copies`` are the copies of logs, by file.
    """
    key = table_key(TABLE)
    row = F.struct(*files.columns)
    longest = files.groupBy(*key).agg(F.max_by(row, "inputs").alias("new"))
    both = longest.join(stored.select(*key, row.alias("old")), on=key, how="left")
    rows = []
    for new, old in both.select("new", "old").collect():
        counted = new if old is None or new.inputs >= old.inputs else old
        row = counted.asDict() | {"copies": copies.get(new.file)}
        if old is None or row != old.asDict():
            rows.append(list(row.values()))
    return rows


def _days_summed(rows: DataFrame, key: list[str]) -> DataFrame:
    """``kept_by_date`` summed per key; no row for a key without dates."""
    days = rows.select(*key, F.explode("kept_by_date").alias("day", "kept"))
    by_day = days.groupBy(*key, "day").agg(F.sum("kept").alias("kept"))
    entries = F.array_sort(F.collect_list(F.struct("day", "kept")))
    return by_day.groupBy(*key).agg(F.map_from_entries(entries).alias("kept_by_date"))


def _files(rows: DataFrame, cluster_id: str, source: str, **values: Column) -> DataFrame:
    """``values`` are the columns that are not simply the rows' columns of the same names."""
    values = (
        {"next_offset": F.lit(None), "copies": F.lit(None)}
        | {name: F.lit(None) for name in _OF_LOGS if name not in rows.columns}
        | values
        | {"cluster_id": F.lit(cluster_id), "source": F.lit(source)}
    )
    return rows.select(
        *(
            values.get(column.name, F.col(column.name)).cast(column.dataType).alias(column.name)
            for column in schema_of(TABLE)
        )
    )


def _no_days() -> Column:
    return F.expr("CAST(MAP() AS MAP<DATE, BIGINT>)")


def _no_records() -> dict[str, Column]:
    """The columns that only files of records have."""
    return {name: F.lit(None) for name in ("topic_partition", "first_offset", "last_offset")}
