"""Spans of rebalances: the rebalance, its phases, and the events that caused it.

reads   rebalances and rebalance_costs (views), generations, rebalance_causes, ownership_gaps,
        episodes

Ids are hashes of the row's key: a rebalance that is exported twice has the same trace.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from coordinator_core.coordinator.group_types import GROUP_TYPES
from jobs.lake.sql import open_lake
from jobs.report.window import ReportWindow

Attributes = dict[str, str | int]
Row = Mapping[str, Any]

# Without a log, a rebalance starts with its sync phase.
_ROWS = """
    WITH selected AS (
        SELECT r.*, g.joined_time,
            COALESCE(r.preparing_time, g.joined_time, r.to_time) AS from_time,
            COALESCE(r.to_time, g.joined_time, r.preparing_time) AS to_time
        FROM rebalances r JOIN generations g USING (cluster_id, group_id, incarnation, generation)
        WHERE r.cluster_id = $cluster_id AND ($group_id IS NULL OR r.group_id = $group_id)
    ), told AS (
        SELECT cluster_id, group_id, incarnation, generation,
            LIST({time: event_time, cause: cause, story: story, process: process, role: role}
                ORDER BY cause_seq) AS causes
        FROM rebalance_causes WHERE cluster_id = $cluster_id GROUP BY ALL
    ), unowned AS (
        SELECT cluster_id, group_id, incarnation, generation, SUM(unowned_ms)::BIGINT AS unowned_ms
        FROM ownership_gaps WHERE cluster_id = $cluster_id GROUP BY ALL
    )
    SELECT s.*, t.causes, u.unowned_ms AS unowned_partition_ms,
        ROUND(d.records_reprocessed)::BIGINT AS records_reprocessed, d.consumption_pause_ms,
        e.kind AS episode, e.summary AS episode_summary
    FROM selected s
    LEFT JOIN told t USING (cluster_id, group_id, incarnation, generation)
    LEFT JOIN unowned u USING (cluster_id, group_id, incarnation, generation)
    LEFT JOIN rebalance_costs d USING (cluster_id, group_id, incarnation, generation)
    LEFT JOIN episodes e ON e.cluster_id = s.cluster_id AND e.group_id = s.group_id
        AND e.incarnation = s.incarnation
        AND s.generation BETWEEN e.first_generation AND e.last_generation
    WHERE s.from_time IS NOT NULL AND EPOCH_MS(s.to_time) BETWEEN $from_ms AND $to_ms
    QUALIFY ROW_NUMBER() OVER (
        PARTITION BY s.group_id, s.incarnation, s.generation ORDER BY e.from_time, e.kind) = 1
    ORDER BY s.from_time, s.group_id, s.incarnation, s.generation"""
_NUMBERS = (
    "incarnation", "generation", "member_count", "members_joined", "members_left",
    "members_expired", "members_dropped", "members_replaced", "partitions_moved",
    "partitions_orphaned", "moves_forced", "unowned_partition_ms",
    "records_reprocessed", "consumption_pause_ms", "join_ms", "sync_ms", "round",
)  # fmt: skip
_TEXTS = ("group_type", "outcome", "cause", "story", "evidence", "episode", "episode_summary")


class SpanEvent(NamedTuple):
    name: str
    time: datetime
    attributes: Attributes


class Span(NamedTuple):
    """Times in UTC.  ``parent_id`` is None for a rebalance, which is the root of its trace."""

    trace_id: int
    span_id: int
    parent_id: int | None
    name: str
    start: datetime
    end: datetime
    attributes: Attributes
    events: tuple[SpanEvent, ...] = ()
    has_failed: bool = False


def rebalance_rows(
    lake: str, cluster_id: str, group_id: str | None, window: ReportWindow
) -> Iterator[Row]:
    """One row per rebalance that ended within the window, ordered by time."""
    connection = open_lake(lake, _ROWS, optional=("episodes", "ownership_gaps", "handover_costs"))
    result = connection.execute(
        _ROWS,
        {
            "cluster_id": cluster_id,
            "group_id": group_id,
            "from_ms": window.from_ms,
            "to_ms": window.to_ms,
        },
    )
    names = [column[0] for column in result.description or []]
    while row := result.fetchone():
        yield dict(zip(names, row, strict=True))


def spans(rows: Iterable[Row]) -> Iterator[Span]:
    for row in rows:
        root = _rebalance(row)
        yield root
        yield from _phases(row, root)


def _rebalance(row: Row) -> Span:
    key = [str(row[name]) for name in ("cluster_id", "group_id", "incarnation", "generation")]
    return Span(
        trace_id=_id(16, *key),
        span_id=_id(8, *key),
        parent_id=None,
        name="rebalance",
        start=_utc(row["from_time"]),
        end=_utc(row["to_time"]),
        attributes=_attributes(row),
        events=tuple([_event(each) for each in row["causes"] or () if each["time"] is not None]),
        has_failed=row["outcome"] == "failed",
    )


def _phases(row: Row, root: Span) -> Iterator[Span]:
    """The phases whose length is known; the second begins where the first ends."""
    start = root.start
    # Names of the phases that last join_ms and sync_ms.
    names = GROUP_TYPES[row["group_type"]].phases
    for name, length_ms in zip(names, (row["join_ms"], row["sync_ms"]), strict=True):
        if length_ms is None:
            continue
        end = start + timedelta(milliseconds=length_ms)
        span_id = _id(8, f"{root.trace_id:032x}", name)
        yield Span(
            trace_id=root.trace_id,
            span_id=span_id,
            parent_id=root.span_id,
            name=name,
            start=start,
            end=end,
            attributes={},
        )
        start = end


def _attributes(row: Row) -> Attributes:
    """OpenTelemetry's names are used if its conventions have one; null columns are omitted."""
    common: Attributes = {
        "messaging.system": "kafka",
        "messaging.consumer.group.name": row["group_id"],
        "regroup.cluster_id": row["cluster_id"],
    }
    if row["culprit"] is not None:
        common["regroup.process"] = row["culprit"]
    if row["culprit_client_host"] is not None:
        common["client.address"] = row["culprit_client_host"].removeprefix("/")
    columns = {f"regroup.{name}": row[name] for name in (*_NUMBERS, *_TEXTS)}
    return common | {name: value for name, value in columns.items() if value is not None}


def _event(cause: Row) -> SpanEvent:
    values = {f"regroup.{name}": cause[name] for name in ("story", "process", "role")}
    attributes = {name: value for name, value in values.items() if value is not None}
    return SpanEvent(cause["cause"], _utc(cause["time"]), attributes)


def _utc(time: datetime) -> datetime:
    """The lake's times are in UTC, without a zone."""
    return time.replace(tzinfo=UTC)


def _id(size: int, *parts: str) -> int:
    """``size``: in bytes.  The result is never 0, which OpenTelemetry takes for a missing id."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=size).digest()) or 1
