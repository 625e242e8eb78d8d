"""Replay every generation of every group through the engine, and write each one's verdict.

reads   timeline, group_events, group_metadata, committed_offsets
        broker_log_events, ingested_files, broker_episodes   for the versions of the brokers
        group_records, offsets_records, topic_ids   of consumer, share and streams groups
writes  incident_replay   one row per generation

Covers a cluster's whole history, whatever the dates: a verdict depends on all earlier evidence.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from coordinator_core.coordinator.era_evidence import NO_EVIDENCE, EraEvidence
from coordinator_core.incident import GroupReplay
from coordinator_core.incident.divergence_hints import likely_reason
from coordinator_core.incident.modern import (
    GroupEvidence,
    ModernReplay,
    WholeReplay,
    replay_group,
)
from coordinator_core.incident.modern.hints import likely_reason as likely_reason_of_modern
from coordinator_core.incident.stimuli import Basis
from jobs.configuration.config import Config
from jobs.console.printing import Format, print_rows
from jobs.console.spinner import spinner
from jobs.lake.epoch_rows import topic_names
from jobs.lake.evidence import Row, by_group, evidence, packed, unpacked
from jobs.lake.existing import open_existing_lake
from jobs.lake.literals import quoted
from jobs.lake.scope import AllDates
from jobs.lake.sql import query
from jobs.lake.tables import Lake, schema_of
from jobs.replay.group_rows import KINDS, OF_BROKERS, evidence_of_brokers, evidence_rows
from schemas import evidence_reads

READS = ("timeline", "group_events", "group_metadata", "committed_offsets")
_OF_MODERN_GROUPS = ("offsets_records", "group_records")


def incident_replay(
    tables: Mapping[str, DataFrame],
    names: Mapping[str, str] | None = None,
    brokers: EraEvidence = NO_EVIDENCE,
) -> DataFrame:
    """A task replays whole groups, because a generation depends on all previous generations.

    Commits are not replayed: there are many, and they start no generation.  ``tables`` are the
    tables READS, and the tables of modern groups if the lake has them.  ``names`` are topic names
    by id. ``brokers``: their versions.
    """
    schema = schema_of("incident_replay")
    kinds = [kind for kind in KINDS if evidence_reads(kind) <= tables.keys()]
    grouped = by_group(packed({kind: evidence(kind, tables) for kind in kinds}))
    return grouped.applyInArrow(
        _replay_of_group(to_arrow_schema(schema), names or {}, brokers), schema
    )


def _replay_of_group(
    schema: pa.Schema, names: Mapping[str, str], brokers: EraEvidence
) -> Callable[[pa.Table], pa.Table]:
    """Replays one group; ``schema`` comes from the driver, as workers have no SparkSession."""

    def replayed(of_group: pa.Table) -> pa.Table:
        keys, rows = unpacked(of_group)
        events, records, stored, versions = evidence_rows(rows)
        if not events and not records and not stored:
            return schema.empty_table()
        group = GroupEvidence(keys["group_id"], events, records, stored, names)
        result = replay_group(group, offset_versions=versions, cluster=brokers)
        return pa.Table.from_pylist(rows_of(keys["cluster_id"], result), schema)

    return replayed


def run(lake: Lake) -> None:
    """Reads the records in bytes only if the lake has modern groups."""
    scope = AllDates(lake)
    has_modern = scope.has_rows("group_records")
    read = (*READS, *_OF_MODERN_GROUPS) if has_modern else READS
    names = topic_names(scope) if has_modern else None
    brokers = evidence_of_brokers(*(_rows_of_brokers(lake, kind) for kind in OF_BROKERS))
    made = incident_replay({name: lake.read(name) for name in read}, names, brokers)
    lake.replace("incident_replay", made)


def _rows_of_brokers(lake: Lake, kind: str) -> list[Row]:
    of_kind = evidence(kind, {name: lake.read(name) for name in sorted(evidence_reads(kind))})
    return [row.asDict() for row in of_kind.collect()]


def run_all(lake: str, cluster_id: str, config: Config, format: Format) -> int:
    """Replay all groups of a cluster into the table, and print each group's counts.

    Returns the exit code: 1 if a generation diverged.
    """
    opened_lake = open_existing_lake(lake, cluster_id, config)
    with spinner("incident_replay"):
        run(opened_lake)
    columns, rows = query(lake, _COUNTS.format(cluster=quoted(cluster_id)))
    print_rows(columns, rows, format)
    if not rows:
        print(NOTHING_TO_REPLAY, file=sys.stderr)
    return 1 if any(row[-1] for row in rows) else 0


NOTHING_TO_REPLAY = (
    "no group to replay: a replay needs records or a broker's log; clients' logs alone do not"
    " suffice"
)
_COUNTS = """
    SELECT group_id, COUNT(*) AS generations,
        COUNT(*) FILTER (WHERE verdict = 'reproduced') AS reproduced,
        COUNT(*) FILTER (WHERE verdict = 'undecided') AS undecided,
        COUNT(*) FILTER (WHERE verdict = 'diverged') AS diverged
    FROM incident_replay WHERE cluster_id = {cluster} GROUP BY group_id ORDER BY group_id"""


def rows_of(cluster_id: str, result: WholeReplay) -> list[Row]:
    """Rows of incident_replay, in the order of generations."""
    rows = [*classic_rows(cluster_id, result.classic), *modern_rows(cluster_id, result.modern)]
    return sorted(rows, key=lambda row: (row["incarnation"], row["generation"]))


def classic_rows(cluster_id: str, result: GroupReplay) -> list[Row]:
    return [
        {
            "cluster_id": cluster_id,
            "group_id": result.group_id,
            "incarnation": each.incarnation,
            "generation": each.number,
            "event_date": _date(each.explained.evidence.begins_ms),
            "verdict": each.verdict.value,
            "difference": None if divergence is None else str(divergence),
            "differs_at": None if divergence is None else divergence.evidence,
            "likely": likely_reason(each),
            "evidence": each.evidence,
            "exact": each.is_reproduced and each.comparison.exact,
            "late_ms": each.comparison.late_ms if each.explained.is_logged else None,
            "stimuli": len(each.stimuli),
            "assumed": sum(s.basis is Basis.ASSUMED for s in each.stimuli),
            "era": each.era.name,
        }
        for each in result.generations
        for divergence in [each.comparison.divergence]
    ]


def modern_rows(cluster_id: str, result: ModernReplay) -> list[Row]:
    return [
        {
            "cluster_id": cluster_id,
            "group_id": result.group_id,
            "incarnation": each.incarnation,
            "generation": each.number,
            "event_date": _date(each.begins_ms),
            "verdict": each.verdict.value,
            "difference": None if divergence is None else str(divergence),
            "differs_at": None if divergence is None else divergence.evidence,
            "likely": likely_reason_of_modern(each),
            "evidence": each.evidence,
            "exact": each.exact,
            "late_ms": None,
            "stimuli": len(each.stimuli),
            "assumed": sum(s.basis is Basis.ASSUMED for s in each.stimuli),
            "era": each.era,
        }
        for each in result.generations
        for divergence in [each.divergence]
    ]


def _date(at_ms: int) -> date:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date()


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("incident_replay")
