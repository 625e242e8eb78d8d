"""Store the new records of a running cluster's topic, slice by slice.

ingested_files has, per partition, the counts and the next offset to read.  A slice's counts are
written last and in one commit with its next offsets, so a slice that was interrupted is read again.
All dates are stored, because the next run continues where this run stopped.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.bronze import counts
from jobs.bronze.source_names import KAFKA
from jobs.bronze.storing import record_tables, stored
from jobs.lake.tables import Lake
from jobs.sources.topic.kafka import (
    COMMITTED,
    DeletedOffsets,
    Kafka,
    Offsets,
    OffsetsTopic,
    deleted_offsets,
    slices,
    verify_arrival,
)
from jobs.sources.topic.opening import open_topic
from jobs.sources.topic.segments import TOPIC


def store_topic(lake: Lake, kafka: Kafka) -> None:
    """Raises RunFailed if a record that the broker had at the start did not arrive."""
    topic = open_topic(lake.spark, kafka)
    ranges, next_offsets = topic.offset_ranges(), stored_offsets(lake)
    if deleted := list(deleted_offsets(ranges, next_offsets)):
        lake.insert_new("quarantine", quarantined_gaps(lake, deleted))
    start = {p: max(begin, next_offsets.get(p, 0)) for p, begin in ranges.begin.items()}
    arrived: Counter[int] = Counter()
    for first, end in slices(start, ranges.end, kafka.offsets_per_slice):
        arrived.update(_store_slice(lake, topic, first, end, kafka.isolation))
    verify_arrival(topic, start, ranges.end, arrived)
    for line in ranges.waiting():
        print(f"regroup: {line}", file=sys.stderr)


def has_new_offsets(lake: Lake, kafka: Kafka) -> bool:
    """Returns whether the topic has readable records that no run has read, or has lost unread
    records.
    """
    ranges, next_offsets = open_topic(lake.spark, kafka).offset_ranges(), stored_offsets(lake)
    return any(
        end > max(ranges.begin[partition], next_offsets.get(partition, 0))
        or ranges.begin[partition] > next_offsets.get(partition, ranges.begin[partition])
        for partition, end in ranges.end.items()
    )


def stored_offsets(lake: Lake) -> Offsets:
    """The next offset per partition; empty before the first run."""
    # A table of an older version lacks this column.
    next_offset = F.coalesce("next_offset", F.col("last_offset") + 1)
    rows = lake.read(counts.TABLE).where(F.col("source") == KAFKA)
    offsets = rows.select(_partition().alias("partition"), next_offset.alias("next")).collect()
    return {int(row.partition): row.next for row in offsets}


def _store_slice(
    lake: Lake, topic: OffsetsTopic, start: Offsets, end: Offsets, isolation: str
) -> Offsets:
    """The numbers of received records by partition."""
    tables = record_tables(lake, KAFKA)
    with stored(lake, topic.records(start, end), tables) as rows:
        arrived = {int(p): n for p, n in rows.groupBy(_partition()).count().collect()}
        hidden = [p for p in end if end[p] - start[p] > arrived.get(p, 0)]
        if hidden and isolation == COMMITTED:
            first, last = ({p: offsets[p] for p in hidden} for offsets in (start, end))
            with stored(lake, topic.aborted(first, last, rows), tables) as aborted:
                _store_counts(lake, rows.unionByName(aborted), end)
        else:
            _store_counts(lake, rows, end)
    return arrived


def _store_counts(lake: Lake, rows: DataFrame, end: Offsets) -> None:
    ends = [(f"{TOPIC}-{partition}", offset) for partition, offset in end.items()]
    reached = lake.spark.createDataFrame(ends, "topic_partition STRING, next_offset BIGINT")
    before = lake.read(counts.TABLE)
    lake.upsert(counts.TABLE, counts.kafka_logs(rows, lake.cluster_id, before, reached))


def quarantined_gaps(lake: Lake, gaps: Iterable[DeletedOffsets]) -> DataFrame:
    rows = [
        {
            "cluster_id": lake.cluster_id,
            "source": KAFKA,
            "file": f"{TOPIC}-{gap.partition}",
            "position": -1,
            "log_offset": gap.first,
            "topic_partition": f"{TOPIC}-{gap.partition}",
            "reason": f"deleted before it was read: offsets {gap.first} to {gap.last}",
            "length": 0,
            "bytes": None,
            "value": None,
            "append_time": None,
        }
        for gap in gaps
    ]
    return lake.frame("quarantine", [list(row.values()) for row in rows])


def _partition() -> Column:
    return F.substring_index("topic_partition", "-", -1)
