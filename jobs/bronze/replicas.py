"""Corrects a lake that has records of a diverged replica, once another copy shows them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import functions as F

from jobs.bronze.counts import TABLE
from jobs.bronze.source_names import KAFKA, SEGMENTS
from jobs.lake.literals import quoted
from jobs.lake.tables import Lake
from jobs.sources.topic.copies import Digests, digest
from jobs.sources.topic.replicas import (
    DIVERGED,
    PartitionCopies,
    diverged_ranges,
    is_contested,
    of_same_partitions,
    partition_copies,
    partitions_of,
)
from jobs.sources.topic.segments import max_inflated_of


def forget_diverged(
    lake: Lake, files: Sequence[str]
) -> tuple[list[str], Mapping[int, PartitionCopies]]:
    """Delete the stored records that ``files`` show to be of a diverged replica.

    Returns the earlier files that have to be read again, and what the copies show, by partition.
    Reading a file again moves these records into quarantine, and other copies of the records into
    the table.
    """
    earlier = _earlier(lake, files)
    copies = partition_copies([*files, *earlier], _live(lake, files), max_inflated_of(lake.spark))
    again = []
    for path in earlier:
        ranges = diverged_ranges(path, copies)
        for first, last in ranges:
            lake.delete_rows(
                "offsets_records",
                f"{_of_file(lake, path)} AND log_offset BETWEEN {first} AND {last}",
            )
        # An earlier run had fewer copies, and may have kept the records of another copy.
        if is_contested(path, copies):
            lake.delete_rows(
                "quarantine", f"{_of_file(lake, path)} AND reason LIKE '{DIVERGED}: offset %, %'"
            )
        if ranges or is_contested(path, copies):
            again.append(path)
    return again, copies


def _of_file(lake: Lake, path: str) -> str:
    cluster = f"cluster_id = {quoted(lake.cluster_id)}"
    return f"{cluster} AND source = '{SEGMENTS}' AND file = {quoted(path)}"


def _earlier(lake: Lake, files: Sequence[str]) -> list[str]:
    """The segment files of these partitions that the lake's records were read from."""
    if not lake.has(TABLE):
        return []
    ingested = lake.read(TABLE).where(F.col("source") == SEGMENTS).select("path").collect()
    return of_same_partitions((row.path for row in ingested), files)


def _live(lake: Lake, files: Iterable[str]) -> Mapping[int, Digests]:
    """The records of the live topic that no segment file had, by partition."""
    if not lake.may_hold("offsets_records", "source", KAFKA):
        return {}
    partitions = partitions_of(files)
    rows = (
        lake.read("offsets_records")
        .where((F.col("source") == KAFKA) & F.col("topic_partition").isin([*partitions]))
        .where("control IS NULL")
        .select("topic_partition", "log_offset", "key", "value")
    )
    live: dict[int, dict[int, bytes]] = defaultdict(dict)
    for row in rows.toLocalIterator():
        live[partitions[row.topic_partition]][row.log_offset] = digest(row.key, row.value)
    return live
