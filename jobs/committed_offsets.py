"""Decoded offset commits, and the outcome of transactional commits.

reads   offsets_records    records of key types 0 and 1, and transaction markers
writes  committed_offsets  one row per commit, tombstones included
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.records import decode
from jobs.bulk.decoder import ColumnArrays, Decoder, decode_into
from jobs.bulk.lists import uuid_texts
from jobs.bulk.records import read_records
from jobs.bulk.times import times_of
from jobs.lake.dates import known_ms
from jobs.lake.scope import RunScope

READS = ("offsets_records",)

KEY_TYPES = (0, 1)
# Kafka's text of the UUID 0, which means no topic id.
NO_TOPIC_ID = "A" * 22
CARRIED = ("cluster_id", "topic_partition", "log_offset", "event_date", "append_time", "outcome")


def with_outcome(offsets_records: DataFrame) -> DataFrame:
    """Add ``outcome``: plain, or by the producer's next end marker in the log committed, aborted or
    open.

    Only markers of the same date or the next date count, because coordinators end transactions
    after transaction.max.timeout.ms, which is 15 minutes.  A transaction aborted later, by hand,
    stays open.
    """
    later = (
        Window.partitionBy("topic_partition", "producer_id")
        .orderBy(
            F.desc("log_offset")
        )  # For every row, Spark reads a frame up to the last row in full.
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    marker = F.when(F.col("control").isNotNull(), F.struct("control", "event_date"))
    transactional = offsets_records.where("is_transactional").withColumn(
        "marker", F.last(marker, ignorenulls=True).over(later)
    )
    plain = offsets_records.where("NOT is_transactional").withColumn("outcome", F.lit("plain"))
    in_time = F.datediff("marker.event_date", "event_date") <= 1
    ended = transactional.withColumn("outcome", _outcome(F.when(in_time, F.col("marker.control"))))
    return plain.unionByName(ended.drop("marker"))


def _outcome(marker: Column) -> Column:
    by_marker = F.when(marker == "COMMIT", "committed").when(marker == "ABORT", "aborted")
    return by_marker.otherwise("open")


def committed_offsets(offsets_records: DataFrame) -> DataFrame:
    commits = with_outcome(offsets_records).where(F.col("key_type").isin(*KEY_TYPES))
    return decode_into("committed_offsets", commits, CARRIED, DECODER)


# In bulk --------------------------------------------------------------------------------------


def _columns(keys: pa.Array, values: pa.Array) -> tuple[np.ndarray, ColumnArrays]:
    """Key type 0 (Kafka 0.8.2) is rare: its records are left to the reference decoder."""
    records = read_records(KEY_TYPES[1], keys, values)
    key, value = records.key, records.value
    return records.rows, {
        "group_id": key["group"],
        "topic": key["topic"],
        "partition": key["partition"],
        "tombstone": records.version.is_null(),
        "value_version": records.version,
        "committed_offset": value["offset"],
        "leader_epoch": value["leader_epoch"],
        "topic_id": _topic_ids(value["topic_id"]),
        "metadata": value["metadata"],
        "commit_time": times_of(value["commit_timestamp"]),
        "expire_time": times_of(value["expire_timestamp"]),
    }


def _topic_ids(uuids: pa.Array) -> pa.Array:
    texts = uuid_texts(uuids)
    return pc.if_else(pc.equal(texts, NO_TOPIC_ID), None, texts)


# The reference --------------------------------------------------------------------------------


def _row(key: bytes, value: bytes | None) -> dict[str, Any]:
    record = decode(key, value)
    fields = record.value or {}
    return {
        "group_id": record.key["group"],
        "topic": record.key["topic"],
        "partition": record.key["partition"],
        "tombstone": value is None,
        "value_version": record.version,
        "committed_offset": fields.get("offset"),
        "leader_epoch": fields.get("leader_epoch"),
        "topic_id": _none_if_zero(fields.get("topic_id")),
        "metadata": fields.get("metadata"),
        "commit_time": _micros(fields.get("commit_timestamp")),
        "expire_time": _micros(fields.get("expire_timestamp")),
    }


def _none_if_zero(topic_id: str | None) -> str | None:
    return None if topic_id == NO_TOPIC_ID else topic_id


def _micros(value_ms: int | None) -> int | None:
    time_ms = known_ms(value_ms)
    return None if time_ms is None else time_ms * 1000


DECODER = Decoder(_row, _columns)


def run(scope: RunScope) -> None:
    around = scope.read_days("offsets_records", before=1, after=1)
    scope.replace_days("committed_offsets", committed_offsets(around))
    # Transactions of the previous day that ended on these dates.
    ended = with_outcome(around.where("is_transactional"))
    scope.update_day_before(
        "committed_offsets", ended.where(F.col("key_type").isin(*KEY_TYPES)), "outcome"
    )


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("committed_offsets")
