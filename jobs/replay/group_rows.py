"""A group's evidence from the lake: rows of its events, records and commits, with incarnation.

For one group by DuckDB, for all groups as a grouped DataFrame.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F

from jobs.console.errors import UsageError
from jobs.engine.union import union_of
from jobs.lake.sql import existing_tables, query

Row = dict[str, Any]
FOREVER_MS = 1 << 62

_TIME_OF_DAY = re.compile(r"(?:\d{1,2}:\d\d|\d\d:\d\d:\d\d(?:\.\d{1,6})?)Z?")

_KEYS = ["cluster_id", "group_id"]
_EVENT = (
    "event_seq", "event", "generation", "member_id", "instance_id", "old_member_id", "step",
    "reason", "client_reason", "cause", "member_count", "members", "broker_id", "file_id",
    "position",
)  # fmt: skip
_RECORD = (
    "topic_partition", "log_offset", "tombstone", "value_version", "generation", "protocol_type",
    "protocol", "leader", "state_timestamp_ms", "members",
)  # fmt: skip


# Key types of `__consumer_offsets` that the replay of groups of the new types reads: with the
# records of the time in which a group was classic.
_FIRST_STORED, _LAST_STORED = 2, 23
_STORED_TABLES = frozenset({"offsets_records", "group_records", "topic_ids"})


class EvidenceRows(NamedTuple):
    """``events``, ``records``: rows for coordinator_core.incident.incarnations; ``committed``: rows
    of committed_offsets, with ``at_ms``.
    """

    events: list[Row]
    records: list[Row]
    committed: list[Row]


def stored_rows(lake: str, cluster_id: str, group_id: str) -> tuple[list[Row], dict[str, str]]:
    """All records of a group that was of a new type, in bytes, and names of topics by id.

    Both empty for a group that always was classic, and in a lake without these tables.
    """
    if not set(existing_tables(lake)) >= _STORED_TABLES:
        return [], {}
    of_group = f"cluster_id = {quoted(cluster_id)} AND group_id = {quoted(group_id)}"
    records = rows(
        lake,
        f"""SELECT o.topic_partition, o.log_offset, o.key, o.value, t.incarnation,
                epoch_ms(o.append_time) AS at_ms
            FROM (SELECT * FROM offsets_records WHERE cluster_id = {quoted(cluster_id)}
                AND key_type BETWEEN {_FIRST_STORED} AND {_LAST_STORED}) o
            JOIN (SELECT topic_partition, log_offset, incarnation FROM timeline WHERE {of_group}) t
                ON t.topic_partition = o.topic_partition AND t.log_offset = o.log_offset
            WHERE EXISTS (SELECT 1 FROM group_records WHERE {of_group})""",
    )
    names = rows(
        lake, f"SELECT topic_id, topic FROM topic_ids WHERE cluster_id = {quoted(cluster_id)}"
    )
    return records, {row["topic_id"]: row["topic"] for row in names}


def group_rows(
    lake: str, cluster_id: str, group_id: str, begin_ms: int, end_ms: int
) -> EvidenceRows:
    """All events and records of the group, and its commits within begin_ms .. end_ms.

    Raises UsageError if the lake has no evidence of the group by records or brokers' logs.
    """
    of_group = f"cluster_id = {quoted(cluster_id)} AND group_id = {quoted(group_id)}"
    own_timeline = (
        f"(SELECT seq, log_offset, topic_partition, incarnation FROM timeline WHERE {of_group})"
    )
    events = rows(
        lake,
        f"""SELECT {", ".join(f"e.{name}" for name in _EVENT)}, t.incarnation,
                epoch_ms(e.event_time) AS at_ms
            FROM (SELECT * FROM group_events WHERE {of_group}) e
            JOIN {own_timeline} t ON t.seq = e.event_seq AND t.log_offset IS NULL""",
    )
    records = rows(
        lake,
        f"""SELECT {", ".join(f"r.{name}" for name in _RECORD)}, t.incarnation,
                epoch_ms(r.append_time) AS at_ms
            FROM (SELECT * FROM group_metadata WHERE {of_group}) r
            JOIN {own_timeline} t ON t.topic_partition = r.topic_partition
                AND t.log_offset = r.log_offset""",
    )
    committed = rows(
        lake,
        f"""SELECT topic_partition, log_offset, topic, partition, tombstone, outcome, value_version,
                committed_offset, epoch_ms(commit_time) AS at_ms
            FROM committed_offsets
            WHERE {of_group} AND NOT tombstone AND outcome = 'plain'
                AND epoch_ms(commit_time) BETWEEN {begin_ms} AND {end_ms}""",
    )
    if not events and not records:
        raise UsageError(f"--group {group_id}: {_without_evidence(lake, of_group)}")
    return EvidenceRows(events, records, committed)


def _without_evidence(lake: str, of_group: str) -> str:
    of_clients = rows(
        lake,
        f"SELECT 1 FROM client_events WHERE {of_group} LIMIT 1",
        optional=["client_events"],
    )
    if of_clients:
        return f"only clients' logs of this group in {lake}; add records or the brokers' logs"
    return f"no events or records of this group in {lake}"


def rows(lake: str, sql: str, *, optional: Collection[str] = ()) -> list[Row]:
    """Query the lake; each row by column name.  An ``optional`` table may be missing."""
    columns, values = query(lake, sql, optional=optional)
    return [dict(zip(columns, row, strict=True)) for row in values]


def quoted(value: str) -> str:
    """An SQL string literal."""
    return "'" + value.replace("'", "''") + "'"


def with_date(lake: str, cluster_id: str, text: str | None) -> str | None:
    """A time of day with the cluster's last date in the lake; other texts as they are."""
    if text is None or _TIME_OF_DAY.fullmatch(text) is None:
        return text
    last = rows(
        lake,
        f"""SELECT CAST(last_time AS DATE) AS day FROM observed_spans
            WHERE cluster_id = {quoted(cluster_id)}""",
    )
    if not last:
        raise UsageError(f"{text}: no event of cluster {cluster_id} in {lake}; give a date, too")
    return f"{last[0]['day']}T{text.zfill(5)}"


def moment_ms(option: str, text: str | None, *, is_end: bool) -> int:
    """A time or date as ms since the epoch.  A date means its first ms, or its last if ``is_end``;
    None means 0, or FOREVER_MS if ``is_end``.  ``option`` is named in the UsageError.
    """
    if text is None:
        return FOREVER_MS if is_end else 0
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        example = "2026-11-21T00:46:00, 2026-11-21 or 00:46 (of the last date)"
        raise UsageError(f"{option} {text}: not a time; write it in UTC, as {example}") from None
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    if is_end and len(text) == len("2026-11-21"):
        moment += timedelta(days=1, milliseconds=-1)
    return int(moment.timestamp() * 1000)


def evidence_by_group(
    timeline: DataFrame,
    group_events: DataFrame,
    group_metadata: DataFrame,
    committed_offsets: DataFrame,
    added: DataFrame | None = None,
    stored: DataFrame | None = None,
) -> GroupedData:
    """One row per event and record, grouped by cluster and group; see `unpacked`.

    Not a cogroup: the embedded engine has none of columns with nulls.  Records have
    ``offset_version``, the value version of the group's commits.  ``added``: further events: their
    cluster and group, ``event``, ``at_ms``, and others of an event's columns; ``stored``: as
    `stored_records` returns them.
    """
    position = ["cluster_id", "group_id", "topic_partition", "log_offset"]
    of_events = timeline.where("log_offset IS NULL").select(
        "cluster_id", "group_id", F.col("seq").alias("event_seq"), "incarnation"
    )
    of_records = timeline.where("log_offset IS NOT NULL").select(*position, "incarnation")
    events = group_events.join(of_events, on=["cluster_id", "group_id", "event_seq"], how="inner")
    records = group_metadata.join(of_records, on=position, how="inner")
    versions = committed_offsets.groupBy("cluster_id", "group_id").agg(
        F.max("value_version").alias("offset_version")
    )
    records = records.join(versions, on=["cluster_id", "group_id"], how="left")
    of_group = events.select(*_KEYS, "incarnation", *_EVENT, _ms("event_time"))
    if added is not None:
        of_group = union_of(of_group, added)
    recorded = records.select(*_KEYS, "incarnation", *_RECORD, "offset_version", _ms("append_time"))
    evidence = union_of(_packed(of_group, "event"), _packed(recorded, "record"))
    if stored is not None:
        evidence = union_of(evidence, _packed(stored, "stored"))
    return evidence.groupBy(*_KEYS)


def stored_records(
    timeline: DataFrame, offsets_records: DataFrame, group_records: DataFrame
) -> DataFrame:
    """The records in bytes of all groups that were of a new type."""
    of_type = F.col("key_type").between(_FIRST_STORED, _LAST_STORED)
    groups = group_records.select(*_KEYS).distinct()
    placed = timeline.where("log_offset IS NOT NULL").join(groups, on=_KEYS, how="left_semi")
    placed = placed.select(*_KEYS, "topic_partition", "log_offset", "incarnation")
    position = ["cluster_id", "topic_partition", "log_offset"]
    in_bytes = offsets_records.where(of_type).select(*position, "key", "value", _ms("append_time"))
    return placed.join(in_bytes, on=position, how="inner")


def _packed(rows: DataFrame, name: str) -> DataFrame:
    return rows.select(*_KEYS, F.struct(*rows.columns).alias(name))


def unpacked(evidence: pa.Table) -> tuple[Row, list[Row], list[Row]]:
    """Cluster and group, events and records of one group of `evidence_by_group`."""
    events, records = (_rows_of(evidence, name) for name in ("event", "record"))
    (keys,) = evidence.select(_KEYS).slice(0, 1).to_pylist()
    return keys, events, records


def stored_of(evidence: pa.Table) -> list[Row]:
    """The records in bytes of one group of `evidence_by_group`."""
    return _rows_of(evidence, "stored") if "stored" in evidence.column_names else []


def _rows_of(evidence: pa.Table, name: str) -> list[Row]:
    return [row for row in evidence[name].to_pylist() if row is not None]


def _ms(time: str) -> Column:
    return F.unix_millis(time).alias("at_ms")
