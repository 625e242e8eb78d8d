"""A group's evidence for a replay: its events, records and commits; and periods in the form in
which users give them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import NamedTuple

from coordinator_core.coordinator.era_evidence import BrokerVersion, EraEvidence
from coordinator_core.log_lines.line_versions import versions_of_logs
from jobs.console.errors import UsageError
from jobs.lake.dates import NEVER_MS
from jobs.lake.evidence import Row, Rows, of_group, rows_of_cluster, rows_of_group
from jobs.lake.literals import quoted
from jobs.lake.sql import existing_tables, query, query_all
from schemas import evidence_reads

_TIME_OF_DAY = re.compile(r"(?:\d{1,2}:\d\d|\d\d:\d\d:\d\d(?:\.\d{1,6})?)Z?")

_RELEASE = re.compile(r"\d+(?:\.\d+)+")
# Kinds of evidence.
EVENTS, RECORDS, COMMITS, STORED = KINDS = ("events", "records", "commits", "stored_records")
# Of the cluster.
BROKER_VERSIONS, BROKER_RESTARTS = OF_BROKERS = "broker_versions", "broker_restarts"
_OF_MODERN_GROUPS = frozenset({"offsets_records", "group_records", "topic_ids"})


class EvidenceRows(NamedTuple):
    """A group's evidence for a replay.

    ``events`` and ``records`` are rows for coordinator_core.incident.incarnations.  ``stored`` is
    in records in bytes if the group was a modern group.  ``offset_versions`` are value versions of
    its commits.
    """

    events: list[Row]
    records: list[Row]
    stored: list[Row]
    offset_versions: set[int]


def evidence_rows(rows: Rows) -> EvidenceRows:
    """``rows`` are by the kinds of evidence of a replay."""
    versions = {row["offset_version"] for row in rows[COMMITS]} - {None}
    return EvidenceRows(rows[EVENTS], rows[RECORDS], rows.get(STORED, []), versions)


def replayed_rows(lake: str, cluster_id: str, group_id: str) -> EvidenceRows:
    """Raises UsageError if the lake has no evidence of the group by records or brokers' logs."""
    kinds = KINDS if _has_modern_groups(lake) else (EVENTS, RECORDS, COMMITS)
    of_kinds = rows_of_group(lake, cluster_id, group_id, kinds)
    require_evidence(lake, cluster_id, group_id, of_kinds)
    return evidence_rows(of_kinds)


def brokers_of(lake: str, cluster_id: str) -> EraEvidence:
    """The versions of the brokers by their logs and restarts."""
    tables = frozenset().union(*map(evidence_reads, OF_BROKERS))
    rows = rows_of_cluster(lake, cluster_id, OF_BROKERS, optional=tables, notices=False)
    return evidence_of_brokers(rows[BROKER_VERSIONS], rows[BROKER_RESTARTS])


def evidence_of_brokers(logs: Iterable[Row], restarts: Iterable[Row]) -> EraEvidence:
    """``logs`` and ``restarts`` are rows of the evidence OF_BROKERS."""
    versions: list[BrokerVersion] = []
    for each in sorted(restarts, key=lambda row: (row["broker_id"], row["started_ms"] or NEVER_MS)):
        before, since = map(_release, (each["from_version"], each["to_version"]))
        if not versions or versions[-1].broker_id != each["broker_id"]:
            versions.append(BrokerVersion(each["broker_id"], 0, before))
        if each["started_ms"] is not None:
            versions.append(BrokerVersion(each["broker_id"], each["started_ms"], since))
    return EraEvidence(versions=versions_of_logs(logs), of_brokers=versions)


def _release(version: str | None) -> str | None:
    """The version, unless it is a range in words."""
    return version if version and _RELEASE.fullmatch(version) else None


def require_evidence(
    lake: str,
    cluster_id: str,
    group_id: str,
    rows: Rows,
    kinds: Iterable[str] = (EVENTS, RECORDS, STORED),
) -> None:
    """Raises UsageError if the lake has no rows of these ``kinds`` for the group; by default, the
    kinds are records and lines of brokers' logs."""
    if not any(rows.get(kind) for kind in kinds):
        raise UsageError(f"--group {group_id}: {_without_evidence(lake, cluster_id, group_id)}")


def topic_names(lake: str, cluster_id: str) -> dict[str, str]:
    """Names of topics, by topic id."""
    names = rows(
        lake, f"SELECT topic_id, topic FROM topic_ids WHERE cluster_id = {quoted(cluster_id)}"
    )
    return {row["topic_id"]: row["topic"] for row in names}


def _has_modern_groups(lake: str) -> bool:
    return set(existing_tables(lake)) >= _OF_MODERN_GROUPS


def commits_within(
    lake: str, cluster_id: str, group_id: str, begin_ms: int, end_ms: int
) -> list[Row]:
    """Rows of committed_offsets, with ``at_ms``, of commits outside of transactions."""
    return rows(
        lake,
        f"""SELECT topic_partition, log_offset, topic, partition, tombstone, outcome, value_version,
                committed_offset, epoch_ms(commit_time) AS at_ms
            FROM committed_offsets
            WHERE {of_group(cluster_id, group_id)} AND NOT tombstone AND outcome = 'plain'
                AND epoch_ms(commit_time) BETWEEN {begin_ms} AND {end_ms}""",
    )


def _without_evidence(lake: str, cluster_id: str, group_id: str) -> str:
    for table, evidence in (("client_events", "clients' logs"), ("group_snapshots", "snapshots")):
        sql = f"SELECT 1 FROM {table} WHERE {of_group(cluster_id, group_id)} LIMIT 1"
        [of_table] = query_all(lake, [sql], optional=[table], notices=False)
        if of_table:
            return f"only {evidence} of this group in {lake}; add records or the brokers' logs"
    return f"no events or records of this group in {lake}{_similar(lake, cluster_id, group_id)}"


def _similar(lake: str, cluster_id: str, group_id: str) -> str:
    """The end of an error: the group that is meant if a name is mistyped; empty if unknown."""
    sql = "SELECT DISTINCT cluster_id, group_id FROM group_days"
    groups_of: dict[str, list[str]] = {}
    [of_days] = query_all(lake, [sql], optional=["group_days"], notices=False)
    for row in of_days:
        groups_of.setdefault(row["cluster_id"], []).append(row["group_id"])
    if cluster_id not in groups_of:
        return f"; its clusters: {', '.join(sorted(groups_of))}" if groups_of else ""
    similar = get_close_matches(group_id, groups_of[cluster_id], n=3)
    return f"; did you mean {' or '.join(similar)}?" if similar else ""


def rows(lake: str, sql: str, *, optional: Collection[str] = ()) -> list[Row]:
    """Query the lake; each row by column name.  An ``optional`` table may be missing."""
    columns, values = query(lake, sql, optional=optional)
    return [dict(zip(columns, row, strict=True)) for row in values]


def with_date(lake: str, cluster_id: str, text: str | None) -> str | None:
    """A time of day with the cluster's last date in the lake; other texts as they are."""
    if text is None or _TIME_OF_DAY.fullmatch(text) is None:
        return text
    last = rows(
        lake,
        f"""SELECT CAST(last_time AS DATE) AS day FROM observed_spans
            WHERE cluster_id = {quoted(cluster_id)}""",
    )
    if not last or last[0]["day"] is None:
        raise UsageError(f"{text}: no event of cluster {cluster_id} in {lake}; give a date, too")
    return f"{last[0]['day']}T{text.zfill(5)}"
