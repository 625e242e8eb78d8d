"""Store log end offsets of a running cluster: the first and the last sighting of each offset.

The row of the last sighting is replaced by the next one, so a partition without new records has two
rows a day, however often it is looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from datetime import UTC, date, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pyarrow as pa

from coordinator_core.records import decode
from jobs.bronze.source_names import KAFKA
from jobs.bronze.table_rows import arrow_schema
from jobs.lake.sql import query_all
from jobs.sources.end_offsets.sightings import Sighting
from jobs.sources.topic.kafka import Kafka
from jobs.sources.topic.live_ends import list_end_offsets

if TYPE_CHECKING:
    from jobs.lake.arrow_tables import ArrowLake
    from jobs.lake.tables import Lake

TABLE = "end_offsets"
LIST_OFFSETS = "list_offsets"
# Read topics of recent commits only: committed offsets expire after offsets.retention.minutes, by
# default 7 days.
_TOPICS = """
    SELECT DISTINCT cluster_id, topic FROM committed_offsets
    WHERE event_date >= (SELECT MAX(event_date) FROM committed_offsets) - INTERVAL 7 DAY"""
_KEYS = "SELECT DISTINCT cluster_id, key FROM offsets_records WHERE key_type IN (0, 1)"
_LAST = """
    SELECT cluster_id, topic, partition, MAX(position) AS position,
        MAX_BY(log_end_offset, position) AS log_end_offset,
        MAX_BY(EPOCH_MS(seen_time), position) AS seen_ms
    FROM end_offsets WHERE source = 'kafka' AND event_date = DATE '{day}' GROUP BY ALL"""


class _LastRow(NamedTuple):
    """The newest row of a partition. The table's column explains ``position``."""

    position: int
    offset: int
    seen_ms: int


def store_end_offsets(lake: Lake, kafka: Kafka, topics: Collection[str] = ()) -> None:
    """Send one ListOffsets for ``topics`` and the topics that groups commit into, as the lake has
    them.

    A topic that cannot be listed is reported on stderr, once per process; groups are read without
    it.
    """
    ends = list_end_offsets(kafka, {*topics, *committed_topics(lake)})
    add_sightings(lake, ends.sightings, kafka.bootstrap)
    for problem in ends.problems:
        say_once(problem)


@cache
def say_once(problem: str) -> None:
    print(f"regroup: {problem}", file=sys.stderr)


def committed_topics(lake: Lake) -> set[str]:
    """The topics that groups commit into; from the keys of records until a run decodes commits."""
    if lake.has("committed_offsets"):
        return {row["topic"] for row in _own(lake, _TOPICS)}
    if not lake.has("offsets_records"):
        return set()
    keys = (decode(bytes(row["key"]), None).key for row in _own(lake, _KEYS))
    return {key["topic"] for key in keys if "topic" in key}


def add_sightings(lake: Lake, sightings: Iterable[Sighting], address: str) -> None:
    """Add one sighting per partition that is newer than earlier sightings."""
    by_day: dict[date, list[Sighting]] = {}
    for each in sightings:
        by_day.setdefault(_time(each.time_ms).date(), []).append(each)
    rows = [
        _row(lake, each, last.get((each.topic, each.partition)), address)
        for day, of_day in by_day.items()
        for last in [_last_rows(lake, day)]
        for each in of_day
    ]
    if not rows:
        return
    if lake.writes_arrow:
        table = pa.Table.from_pylist(rows, arrow_schema(TABLE))
        cast("ArrowLake", lake).add_new(TABLE, table, replaces="seen_time")
        return
    names = arrow_schema(TABLE).names
    frame = lake.frame(TABLE, ([row[name] for name in names] for row in rows))
    lake.insert_new(TABLE, frame, replaces="seen_time")


def _row(lake: Lake, seen: Sighting, last: _LastRow | None, address: str) -> dict[str, Any]:
    position = seen.time_ms
    if last is not None and last.offset == seen.offset and last.seen_ms <= seen.time_ms:
        is_first = last.position == last.seen_ms
        position = last.position + 1 if is_first else last.position
    return {
        "cluster_id": lake.cluster_id,
        "file_id": LIST_OFFSETS,
        "position": position,
        "topic": seen.topic,
        "partition": seen.partition,
        "log_end_offset": seen.offset,
        "event_date": _time(seen.time_ms).date(),
        "seen_time": _time(seen.time_ms),
        "source": KAFKA,
        "format": LIST_OFFSETS,
        "file": address,
    }


def _last_rows(lake: Lake, day: date) -> dict[tuple[str, int], _LastRow]:
    if not lake.has(TABLE):
        return {}
    return {
        (row["topic"], row["partition"]): _LastRow(
            row["position"], row["log_end_offset"], row["seen_ms"]
        )
        for row in _own(lake, _LAST.format(day=day))
    }


def _own(lake: Lake, sql: str) -> list[dict[str, Any]]:
    """This cluster's rows.  Python compares the ids, because a cluster may have a table's name."""
    [rows] = query_all(lake.root, [sql], notices=False)
    return [row for row in rows if row["cluster_id"] == lake.cluster_id]


def _time(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)
