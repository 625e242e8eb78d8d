"""The evidence of all classic groups as a grouped DataFrame, and of one of them the baseline of its
prediction and the blockers of its migration.

reads   timeline, group_events, group_metadata, committed_offsets, generations, generation_members,
        assignments

Besides the events and records that a replay reads, a group has rows for what only the tables show:
the last commit of each departed member, its first and last commit, and its partition downtime.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F

from coordinator_core.coordinator.era_evidence import InferredEra
from coordinator_core.incident import Incarnation, incarnations
from coordinator_core.incident.evidence import GroupRecord
from coordinator_core.whatif import Baseline, baseline_of
from coordinator_core.whatif.readiness import (
    Blocker,
    blockers_of_clients,
    blockers_of_group,
    commits_without_members,
)
from coordinator_core.whatif.settings import CLASSIC_PROTOCOL, CONSUMER_PROTOCOL
from jobs.engine.union import union_of
from jobs.lake.keys import GROUP_KEY
from jobs.replay.group_rows import Row, evidence_by_group
from jobs.what_if.last_commits import last_commits_sql
from jobs.what_if.sweep import Span

READS = (
    "timeline",
    "group_events",
    "group_metadata",
    "committed_offsets",
    "generations",
    "generation_members",
    "assignments",
)
# Events that are added to a group's evidence: the last commit of a departed member, the group's
# first and last commit, and its partition downtime in place of a time.
LAST_COMMIT, FIRST_OF_ALL, LAST_OF_ALL = "LAST_COMMIT", "FIRST_OF_ALL", "LAST_OF_ALL"
DOWNTIME = "DOWNTIME"
_ADDED = (LAST_COMMIT, FIRST_OF_ALL, LAST_OF_ALL, DOWNTIME)


def evidence_of_classic(
    tables: dict[str, DataFrame], downtime: DataFrame, others: DataFrame
) -> GroupedData:
    """One row per event and record of all groups but those of the new types, ``others``.

    ``downtime``: see `downtime_rows`.
    """

    def own(table: str) -> DataFrame:
        return tables[table].join(others, on=GROUP_KEY, how="left_anti")

    added = union_of(_last_commits(tables), _commits(tables["committed_offsets"]), downtime)
    return evidence_by_group(
        own("timeline"),
        tables["group_events"],
        tables["group_metadata"],
        tables["committed_offsets"],
        added.join(others, on=GROUP_KEY, how="left_anti"),
    )


def _commits(committed: DataFrame) -> DataFrame:
    """Each group's first and last commit, as rows of its evidence."""
    kept_commits = committed.where("NOT tombstone AND commit_time IS NOT NULL")
    times = kept_commits.groupBy(*GROUP_KEY).agg(
        F.min(F.unix_millis("commit_time")).alias("first_ms"),
        F.max(F.unix_millis("commit_time")).alias("last_ms"),
    )
    first, last = (
        times.select(*GROUP_KEY, F.lit(event).alias("event"), F.col(column).alias("at_ms"))
        for event, column in ((FIRST_OF_ALL, "first_ms"), (LAST_OF_ALL, "last_ms"))
    )
    return first.unionByName(last)


def _last_commits(tables: dict[str, DataFrame]) -> DataFrame:
    spark = tables["assignments"].sparkSession
    frames: dict[str, Any] = {**tables}
    commits = spark.sql(last_commits_sql(table="{{{}}}".format), **frames)
    return commits.select(
        "cluster_id",
        "group_id",
        "member_id",
        F.lit(LAST_COMMIT).alias("event"),
        F.unix_millis("committed").alias("at_ms"),
    )


def downtime_rows(gaps: DataFrame, lasted: Column) -> DataFrame:
    """Each group's partition downtime, as a row of its evidence; ``lasted``: of a gap."""
    sums = gaps.groupBy("cluster_id", "group_id").agg(F.sum(lasted).alias("at_ms"))
    return sums.withColumn("event", F.lit(DOWNTIME))


class GroupEvidence(NamedTuple):
    """Of a classic group.  ``logged``: events, steps and causes of its lines; ``commits``: times of
    its first and last commit, in ms; None: it has none.
    """

    incarnations: list[Incarnation]
    offset_versions: set[int]
    last_commit_ms: Mapping[str, int]
    downtime_ms: int
    logged: set[str]
    commits: tuple[int | None, int | None]

    @property
    def records(self) -> list[GroupRecord]:
        """Those with members."""
        return [record for each in self.incarnations for record in each.records if record.members]


def evidence_of(group_id: str, event_rows: list[Row], record_rows: list[Row]) -> GroupEvidence:
    added: dict[str, list[Row]] = {name: [] for name in _ADDED}
    events: list[Row] = []
    for row in event_rows:
        added.get(row["event"], events).append(row)
    logged = {row[name] for row in events for name in ("event", "step", "cause")} - {None}
    return GroupEvidence(
        incarnations(group_id, events, record_rows),
        {row["offset_version"] for row in record_rows} - {None},
        {row["member_id"]: row["at_ms"] for row in added[LAST_COMMIT]},
        sum(row["at_ms"] for row in added[DOWNTIME]),
        logged,
        (_time_of(added[FIRST_OF_ALL]), _time_of(added[LAST_OF_ALL])),
    )


def _time_of(rows: list[Row]) -> int | None:
    return rows[0]["at_ms"] if rows else None


def classic_baseline(evidence: GroupEvidence, span: Span, era: str | None) -> Baseline:
    """With the newer of two eras that only records of consumer groups tell apart."""
    baseline = baseline_of(
        evidence.incarnations,
        offset_versions=evidence.offset_versions,
        last_commit_ms=evidence.last_commit_ms,
        from_ms=span.from_ms,
        to_ms=None if span.from_ms is None else span.to_ms,
        until_ms=span.to_ms,
    )
    if era is None or baseline.explained.era.name != "4.1":
        return baseline
    newer = InferredEra(era, "records of the cluster's consumer groups")
    return replace(baseline, explained=replace(baseline.explained, era=newer))


def migration_blockers(baseline: Baseline, evidence: GroupEvidence) -> list[Blocker]:
    records = evidence.records
    return [
        *blockers_of_group(records, evidence.logged, baseline.explained.era),
        *blockers_of_clients(baseline, records),
        *commits_without_members(baseline, *evidence.commits),
    ]


def type_of(evidence: GroupEvidence) -> str:
    """classic, or the protocol type of members that are not consumers."""
    last = evidence.records[-1].protocol_type if evidence.records else CONSUMER_PROTOCOL
    return CLASSIC_PROTOCOL if last == CONSUMER_PROTOCOL else last
