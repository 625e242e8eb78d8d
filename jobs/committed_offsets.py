"""Offset commits, decoded, and whether the transactional ones came to count.

reads   offsets_records    records of key types 0 and 1, and transaction markers
writes  committed_offsets  one row per commit, tombstones included
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.records import decode
from jobs.arguments import main
from jobs.arrow import decode_into
from jobs.tables import Lake

READS = ("offsets_records",)

KEY_TYPES = (0, 1)
CARRIED = ("cluster_id", "topic_partition", "log_offset", "event_date", "append_time", "outcome")


def with_outcome(offsets_records: DataFrame) -> DataFrame:
    """plain, or by its producer's next end marker in the log: committed, aborted, open."""
    later = (
        Window.partitionBy("topic_partition", "producer_id")
        .orderBy("log_offset")
        .rowsBetween(Window.currentRow, Window.unboundedFollowing)
    )
    transactional = offsets_records.where("is_transactional").withColumn(
        "outcome", _outcome(F.first("control", ignorenulls=True).over(later))
    )
    plain = offsets_records.where("NOT is_transactional").withColumn("outcome", F.lit("plain"))
    return plain.unionByName(transactional)


def _outcome(marker: Column) -> Column:
    by_marker = F.when(marker == "COMMIT", "committed").when(marker == "ABORT", "aborted")
    return by_marker.otherwise("open")


def committed_offsets(offsets_records: DataFrame) -> DataFrame:
    commits = with_outcome(offsets_records).where(F.col("key_type").isin(*KEY_TYPES))
    return decode_into("committed_offsets", commits, CARRIED, _row)


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
        "metadata": fields.get("metadata"),
        "commit_time": _micros(fields.get("commit_timestamp")),
        "expire_time": _micros(fields.get("expire_timestamp")),
    }


def _micros(time_ms: int | None) -> int | None:
    return None if time_ms is None or time_ms < 0 else time_ms * 1000


def run(lake: Lake) -> None:
    lake.replace("committed_offsets", committed_offsets(*map(lake.read, READS)))


if __name__ == "__main__":
    main(__doc__, run)
