"""The rows of an answer, read from a lake by DuckDB."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from coordinator_core.figures import SKEW_MS
from jobs.bronze.source_names import LOGS
from jobs.console.errors import UsageError
from jobs.investigate.missing_evidence import Missing, missing_evidence, seen_in
from jobs.lake.sql import query_all

Row = dict[str, Any]

# A sum of 0 is unknown if the figure of an episode is unknown. The statements are about one
# cluster.  The cluster's id is a parameter, because the text of a statement shows which tables are
# read, and a cluster may have the name of a table.
GROUPS = """
    SELECT q.cluster_id, q.group_id, t.group_type, q.generations, q.rebalances,
        q.aborted_rebalances, q.superseded_targets, q.not_stable_ms, q.longest_ms,
        q.not_stable_percent,
        e.unowned_partition_ms, e.unowned_partition_ms_low, e.unowned_partition_ms_high,
        n.unserved_partition_ms, c.records_reprocessed, e.partitions_moved,
        q.first_seen, q.last_seen
    FROM q01_most_rebalanced_groups q
    LEFT JOIN (
        SELECT cluster_id, group_id, MAX(group_type) AS group_type
        FROM generations GROUP BY cluster_id, group_id
    ) AS t ON t.cluster_id = q.cluster_id AND t.group_id = q.group_id
    LEFT JOIN (
        SELECT cluster_id, group_id,
            CASE WHEN SUM(unowned_partition_ms) > 0 OR COUNT(unowned_partition_ms) = COUNT(*)
                THEN SUM(unowned_partition_ms) END AS unowned_partition_ms,
            SUM(COALESCE(unowned_partition_ms_low, unowned_partition_ms))
                AS unowned_partition_ms_low,
            SUM(COALESCE(unowned_partition_ms_high, unowned_partition_ms))
                AS unowned_partition_ms_high,
            CASE WHEN SUM(partitions_moved) > 0 OR COUNT(partitions_moved) = COUNT(*)
                THEN SUM(partitions_moved) END AS partitions_moved
        FROM episodes GROUP BY cluster_id, group_id
    ) AS e ON e.cluster_id = q.cluster_id AND e.group_id = q.group_id
    LEFT JOIN (
        SELECT cluster_id, group_id, SUM(unserved_ms)::BIGINT AS unserved_partition_ms
        FROM unserved_times WHERE reason <> 'no_progress' GROUP BY cluster_id, group_id
    ) AS n ON n.cluster_id = q.cluster_id AND n.group_id = q.group_id
    LEFT JOIN (
        SELECT cluster_id, group_id, ROUND(SUM(records_reprocessed))::BIGINT AS records_reprocessed
        FROM handover_costs GROUP BY cluster_id, group_id
    ) AS c ON c.cluster_id = q.cluster_id AND c.group_id = q.group_id
    WHERE q.cluster_id = $cluster_id
    ORDER BY COALESCE(e.unowned_partition_ms + n.unserved_partition_ms, e.unowned_partition_ms,
        n.unserved_partition_ms) DESC NULLS LAST, q.rebalances DESC NULLS LAST, q.group_id"""
OTHER_GROUPS = """
    SELECT cluster_id, group_id, group_type, reason, first_time, last_time
    FROM groups_without_generations
    WHERE cluster_id = $cluster_id
    ORDER BY group_id"""
FINDINGS = """
    SELECT cluster_id, finding, kind, group_id, incarnation, member_id, process, broker_id,
        topic_partition, from_time, to_time, rebalances, confidence, version_seen, version, summary,
        remedy, evidence, reference
    FROM findings
    WHERE cluster_id = $cluster_id
    ORDER BY confidence DESC, from_time, finding, group_id"""
EPISODES = """
    SELECT cluster_id, group_id, incarnation, kind, from_time, to_time, processes, hosts,
        first_generation, last_generation, rebalances, not_stable_ms, unowned_partition_ms,
        unowned_partition_ms_low, unowned_partition_ms_high, unserved_partition_ms,
        ROUND(records_reprocessed)::BIGINT AS records_reprocessed,
        partitions_moved, place, summary, text, evidence, confidence
    FROM episode_costs
    WHERE cluster_id = $cluster_id
    ORDER BY from_time, group_id, episode"""
ADVICE = """
    SELECT cluster_id, group_id, setting, sentence, client_properties, broker_properties, risk,
        rejected, saved_unowned_partition_ms, saved_rebalances, confidence, makes_better,
        makes_worse, settings_in_force
    FROM advice
    WHERE cluster_id = $cluster_id
    ORDER BY setting IS NULL, saved_unowned_partition_ms DESC, group_id"""
# Sightings of a log end offset between its first and its last sighting are skipped.
FILES = """
    SELECT cluster_id, path AS file, source, inputs AS lines,
        inputs - quarantined - CASE source WHEN 'end_offsets' THEN 0 ELSE skipped END
            AS understood,
        quarantined, COALESCE(not_understood, 0) AS not_understood, COALESCE(undated, 0) AS undated
    FROM ingested_files
    WHERE cluster_id = $cluster_id
    ORDER BY inputs > quarantined + skipped, not_understood DESC NULLS LAST, source, path"""
WITHOUT_GROUP = """
    SELECT event, client_id, COUNT(*) AS lines, MIN(event_time) AS first
    FROM client_events
    WHERE cluster_id = $cluster_id AND group_id IS NULL
        AND event IN ('POLL_TIMEOUT', 'SESSION_EXPIRED', 'FENCED', 'PARTITIONS_LOST')
    GROUP BY event, client_id
    ORDER BY first, event, client_id"""
END_OFFSETS = "SELECT topic FROM end_offsets WHERE cluster_id = $cluster_id LIMIT 1"
PARTITIONS = """
    SELECT group_id, MAX(topic_partition) AS topic_partition
    FROM timeline
    WHERE cluster_id = $cluster_id AND topic_partition IS NOT NULL
    GROUP BY group_id"""
CLOCKS = f"""
    SELECT COALESCE(client_id, file_id) AS client, ahead_ms
    FROM client_clocks
    WHERE cluster_id = $cluster_id AND ABS(ahead_ms) > {SKEW_MS}
    ORDER BY ABS(ahead_ms) DESC, client"""
# Tables that a lake without the input, or of an older version, lacks.
OPTIONAL = (
    "advice", "client_events", "committed_offsets", "end_offsets", "findings", "group_records",
    "handover_costs", "timeline", "unserved_times",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Rows by column name, each list in the order to show; costly groups first."""

    groups: list[Row]
    findings: list[Row]
    episodes: list[Row]
    advice: list[Row]
    missing_evidence: list[Missing]
    files: list[Row]


class Asked(NamedTuple):
    """``group_id`` is None for all groups of the cluster."""

    lake: str
    cluster_id: str
    group_id: str | None


def answer_of(asked: Asked) -> Answer:
    """Raises UsageError for a lake, a cluster or a group that is not there."""
    statements = [
        *(GROUPS, OTHER_GROUPS, FINDINGS, EPISODES, ADVICE, FILES),
        *(WITHOUT_GROUP, CLOCKS, END_OFFSETS, PARTITIONS),
    ]
    rows = query_all(
        asked.lake,
        statements,
        parameters={"cluster_id": asked.cluster_id},
        optional=OPTIONAL,
        notices=False,
    )
    groups, others, findings, episodes, advice, files, without_group, clocks, ends, partitions = (
        rows
    )
    if not files:
        raise UsageError(f"--lake {asked.lake}: no input of cluster {asked.cluster_id}")
    groups += others
    _require_group(asked.group_id, groups)
    of_group = partial(_of_group, asked.group_id)
    groups = of_group(groups)
    seen = seen_in(
        groups,
        files,
        partitions=of_group(partitions),
        undated_files=_undated_files(files),
        without_group=without_group,
        clocks=_clock_texts(clocks),
        has_end_offsets=bool(ends),
    )
    return Answer(
        groups=groups,
        findings=of_group(findings),
        episodes=of_group(episodes),
        advice=of_group(advice),
        missing_evidence=missing_evidence(seen),
        files=[file | {"kind": _kind(file)} for file in files],
    )


def _clock_texts(clocks: list[Row]) -> list[str]:
    if not clocks:
        return []
    # Import here, because few lakes have clocks that differ, and importing Spark takes long.
    from jobs.nightly_run.client_summary import clock_text

    return [clock_text(row["client"], row["ahead_ms"]) for row in clocks]


def _undated_files(files: list[Row]) -> dict[str, list[str]]:
    """The files with undated lines, by the way to give their dates, without files that no longer
    exist.
    """
    of_remedy: dict[str, list[str]] = {}
    for file in files:
        if file["undated"]:
            from jobs.nightly_run.log_files import kind_of  # as in `_clock_texts`

            with suppress(OSError):
                kind = kind_of(file["source"], file["file"], file["undated"])
                of_remedy.setdefault(kind.remedy, []).append(file["file"])
    return of_remedy


def _kind(file: Row) -> str:
    """The source; for a file of which nothing is understood, what the file seems to be."""
    source: str = file["source"]
    if file["understood"] or source not in LOGS:
        return source.replace("_", " ")
    from jobs.nightly_run.log_files import kind_of  # as in `_clock_texts`

    try:
        kind = kind_of(source, file["file"], file["undated"])
        # The list of missing evidence says how to add the date.
        return kind.what if file["undated"] else kind.sentence
    except OSError:  # The file was ingested by an earlier run, and was deleted later.
        return f"{source.replace('_', ' ')} without any readable line or record"


def _require_group(group_id: str | None, groups: list[Row]) -> None:
    named = sorted({row["group_id"] for row in groups})
    if group_id is not None and group_id not in named:
        some = ", ".join(named[:5]) + (", ..." if len(named) > 5 else "")
        there = f"groups in the evidence: {some}" if named else "the evidence names no group"
        raise UsageError(f"--group {group_id}: not in the evidence; {there}")


def _of_group(group_id: str | None, rows: list[Row]) -> list[Row]:
    """The rows of the group, and rows without a group: about a broker or the evidence."""
    return [row for row in rows if group_id is None or row["group_id"] in (group_id, None)]
