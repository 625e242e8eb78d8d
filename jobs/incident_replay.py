"""Every generation of every group played again through the engine: reproduced, or diverged.

reads   timeline, group_events, group_metadata, committed_offsets
writes  incident_replay   one row per generation

All of a cluster's history, whatever the dates: a verdict hangs on all that was before.
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
from jobs.command_line.arguments import main, opened
from jobs.console.printing import Format, print_rows
from jobs.console.spinner import spinner
from jobs.lake.sql import query
from jobs.lake.tables import Lake, schema_of
from jobs.replay.group_rows import Row, cogrouped_rows, quoted

READS = ("timeline", "group_events", "group_metadata", "committed_offsets")


def incident_replay(
    timeline: DataFrame,
    group_events: DataFrame,
    group_metadata: DataFrame,
    committed_offsets: DataFrame,
) -> DataFrame:
    """A task plays whole groups: what a generation is hangs on all before it.

    Without commits: they are many, and make no generation.
    """
    schema = schema_of("incident_replay")
    both = cogrouped_rows(timeline, group_events, group_metadata, committed_offsets)
    return both.applyInArrow(_player(to_arrow_schema(schema)), schema)


def _player(schema: pa.Schema) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """Plays one group; the schema is the driver's, no worker can make it."""

    def played(events: pa.Table, records: pa.Table) -> pa.Table:
        lines, written = events.to_pylist(), records.to_pylist()
        first = next(iter(lines or written))
        versions = {row["offset_version"] for row in written} - {None}
        found = replay(incarnations(first["group_id"], lines, written), offset_versions=versions)
        return pa.Table.from_pylist(rows_of(first["cluster_id"], found), schema)

    return played


def run(lake: Lake) -> None:
    lake.replace("incident_replay", incident_replay(*map(lake.read, READS)))


def run_all(lake: str, cluster_id: str, conf: str | None, format: Format) -> int:
    """All groups of a cluster into the table; prints each group's counts, exit code as run_one."""
    whole = opened(lake, cluster_id, conf)
    with spinner("incident_replay"):
        run(whole)
    columns, rows = query(lake, _COUNTS.format(cluster=quoted(cluster_id)))
    print_rows(columns, rows, format)
    return 1 if any(row[-1] for row in rows) else 0


_COUNTS = """
    SELECT group_id, COUNT(*) AS generations,
        COUNT(*) FILTER (WHERE verdict = 'reproduced') AS reproduced,
        COUNT(*) FILTER (WHERE verdict = 'diverged') AS diverged
    FROM incident_replay WHERE cluster_id = {cluster} GROUP BY group_id ORDER BY group_id"""


def rows_of(cluster_id: str, found: GroupReplay) -> list[Row]:
    """Rows of incident_replay."""
    return [
        {
            "cluster_id": cluster_id,
            "group_id": found.group_id,
            "incarnation": each.incarnation,
            "generation": each.number,
            "event_date": _date(each.explained.evidence.begins_ms),
            "verdict": "reproduced" if each.is_reproduced else "diverged",
            "difference": None if each.is_reproduced else str(each.comparison.divergence),
            "differs_at": each.comparison.divergence.evidence if each.comparison.divergence else None,
            "likely": likely_reason(each),
            "evidence": each.evidence,
            "exact": each.is_reproduced and each.comparison.exact,
            "late_ms": each.comparison.late_ms if each.explained.is_logged else None,
            "stimuli": len(each.inferred),
            "assumed": sum(s.basis is Basis.ASSUMED for s in each.inferred),
            "era": found.era.name,
        }
        for each in found.generations
    ]


def _date(at_ms: int) -> date:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date()


if __name__ == "__main__":
    main(__doc__, lambda scope: run(scope.lake))
