"""Corrects a lake that has records of a diverged replica, once another copy shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import functions as F

from jobs.bronze.counts import TABLE
from jobs.bronze.table_rows import SEGMENTS
from jobs.lake.literals import quoted
from jobs.lake.tables import Lake
from jobs.sources.topic.replicas import (
    EpochStarts,
    diverged_ranges,
    epoch_starts,
    of_same_partitions,
)


def forget_diverged(
    lake: Lake, files: Sequence[str]
) -> tuple[list[str], Mapping[int, EpochStarts]]:
    """Delete the stored records that ``files`` show to be of a diverged replica.

    Returns the earlier files with these records, as reading them again puts the records into
    quarantine; and the leader epochs that ``files`` and earlier files show, by partition.
    """
    earlier = _earlier(lake, files)
    starts = epoch_starts([*files, *earlier])
    again = []
    for path in earlier:
        ranges = diverged_ranges(path, starts)
        for first, last in ranges:
            lake.delete_rows(
                "offsets_records",
                f"cluster_id = {quoted(lake.cluster_id)} AND source = '{SEGMENTS}'"
                f" AND file = {quoted(path)} AND log_offset BETWEEN {first} AND {last}",
            )
        if ranges:
            again.append(path)
    return again, starts


def _earlier(lake: Lake, files: Sequence[str]) -> list[str]:
    """The segment files of these partitions that the lake's records were read from."""
    if not lake.has(TABLE):
        return []
    ingested = lake.read(TABLE).where(F.col("source") == SEGMENTS).select("path").collect()
    return of_same_partitions((row.path for row in ingested), files)
