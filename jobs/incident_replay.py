"""Replay every generation of every group through the engine, and write each one's verdict.

reads   timeline, group_events, group_metadata, committed_offsets
writes  incident_replay   one row per generation

Covers a cluster's whole history, whatever the dates: a verdict depends on all earlier evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from coordinator_core.incident import GroupReplay, incarnations, replay
from coordinator_core.incident.divergence_hints import likely_reason
from coordinator_core.incident.stimuli import Basis
from jobs.command_line.arguments import open_existing_lake
from jobs.command_line.config import Config
from jobs.console.printing import Format, print_rows
from jobs.console.spinner import spinner
from jobs.lake.sql import query
from jobs.lake.tables import Lake, schema_of
from jobs.replay.group_rows import Row, evidence_by_group, quoted, unpacked

READS = ("timeline", "group_events", "group_metadata", "committed_offsets")


def incident_replay(
    timeline: DataFrame,
    group_events: DataFrame,
    group_metadata: DataFrame,
    committed_offsets: DataFrame,
) -> DataFrame:
    """A task replays whole groups, because a generation depends on all previous ones.

    Commits are not replayed: there are many, and they start no generation.
    """
    schema = schema_of("incident_replay")
    grouped = evidence_by_group(timeline, group_events, group_metadata, committed_offsets)
    return grouped.applyInArrow(_replay_of_group(to_arrow_schema(schema)), schema)


def _replay_of_group(schema: pa.Schema) -> Callable[[pa.Table], pa.Table]:
    """Replays one group; ``schema`` comes from the driver, as workers have no SparkSession."""

    def replayed(evidence: pa.Table) -> pa.Table:
        keys, event_rows, record_rows = unpacked(evidence)
        versions = {row["offset_version"] for row in record_rows} - {None}
        group = incarnations(keys["group_id"], event_rows, record_rows)
        result = replay(group, offset_versions=versions)
        return pa.Table.from_pylist(rows_of(keys["cluster_id"], result), schema)

    return replayed


def run(lake: Lake) -> None:
    lake.replace("incident_replay", incident_replay(*map(lake.read, READS)))


def run_all(lake: str, cluster_id: str, config: Config, format: Format) -> int:
    """Replay all groups of a cluster into the table, and print each group's counts.

    Returns the exit code: 1 if a generation diverged.
    """
    opened_lake = open_existing_lake(lake, cluster_id, config)
    with spinner("incident_replay"):
        run(opened_lake)
    columns, rows = query(lake, _COUNTS.format(cluster=quoted(cluster_id)))
    print_rows(columns, rows, format)
    return 1 if any(row[-1] for row in rows) else 0


_COUNTS = """
    SELECT group_id, COUNT(*) AS generations,
        COUNT(*) FILTER (WHERE verdict = 'reproduced') AS reproduced,
        COUNT(*) FILTER (WHERE verdict = 'undecided') AS undecided,
        COUNT(*) FILTER (WHERE verdict = 'diverged') AS diverged
    FROM incident_replay WHERE cluster_id = {cluster} GROUP BY group_id ORDER BY group_id"""


def rows_of(cluster_id: str, result: GroupReplay) -> list[Row]:
    """Rows of incident_replay."""
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
            "era": result.era.name,
        }
        for each in result.generations
        for divergence in [each.comparison.divergence]
    ]


def _date(at_ms: int) -> date:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date()


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("incident_replay")
