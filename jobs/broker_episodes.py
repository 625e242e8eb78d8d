"""Upgrades, restarts and crashes of brokers, and what they cost the groups.

reads   broker_log_events, ingested_files   starts, shutdowns and versions of brokers
        timeline, committed_offsets         outages
        generations, rebalance_latency, ownership_gaps, episodes   of the groups
writes  broker_episodes   one row per episode of the cluster's brokers

coordinator_core.episodes.brokers infers them.  An episode belongs to the date on which its first
broker stopped.  A run writes its dates and one date on each side, and reads two on each side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from coordinator_core.episodes.brokers import (
    BrokerEpisode,
    BrokerLife,
    Disruption,
    GroupCost,
    GroupMove,
    broker_episodes,
    costs,
    summary,
)
from coordinator_core.episodes.grouping import by
from coordinator_core.log_lines.line_versions import broker_versions
from coordinator_core.log_lines.version_ranges import consistent, ranges_of
from jobs.known_problems.search import EngineEvidence, may_have_rows
from jobs.lake.outages import outages
from jobs.lake.scope import RunScope
from jobs.lake.tables import schema_of
from schemas import table_partitioning

READS = (
    "broker_log_events",
    "generations",
    "rebalance_latency",
    "ownership_gaps",
    "episodes",
    "timeline",
    "committed_offsets",
)

# An unload, and the next broker's load within this time, belong together.
MOVE_MS = 60_000
# A broker that changed from the Scala to the Java coordinator was upgraded to 4.0 or later, because
# 3.7 to 3.9 use the Java coordinator only if a setting enables it.
SCALA, JAVA = "-3.9", "4.0-"
# Number of days around a run's dates whose episodes depend on the run's dates.
AROUND = 1

_STARTS = """
    SELECT broker_id, UNIX_MILLIS(event_time) AS at_ms
    FROM broker_log_events WHERE event = 'OTHER' AND step = 'starting_up' AND broker_id >= 0
    ORDER BY broker_id, at_ms"""
# ``life`` is the number of starts of the broker that are logged up to the line.
_LIVES = """
    SELECT broker_id, file_id, life, event, step, logger, MIN(line) AS line,
        MIN(reason) AS reason, MAX(UNIX_MILLIS(event_time)) AS last_ms
    FROM (
        SELECT *, SUM(CASE WHEN event = 'OTHER' AND step = 'starting_up' THEN 1 ELSE 0 END)
            OVER (PARTITION BY broker_id ORDER BY event_time) AS life
        FROM broker_log_events WHERE broker_id >= 0
    ) AS lines
    GROUP BY broker_id, file_id, life, event, step, logger, cause"""
_SOFTWARE = "SELECT file, software FROM ingested_files WHERE software IS NOT NULL"
_MOVES = """
    SELECT group_id, change, broker_id, previous_broker_id, UNIX_MILLIS(change_time) AS at_ms
    FROM q09_coordinator_changes
    WHERE change = 'unloaded' OR previous_broker_id IS NOT NULL
    ORDER BY group_id, at_ms, change DESC"""
_GAPS = """
    SELECT group_id, incarnation, generation, COUNT(*) AS partitions,
        UNIX_MILLIS(from_time) AS from_ms, UNIX_MILLIS(from_time) + unowned_ms AS to_ms
    FROM ownership_gaps
    GROUP BY group_id, incarnation, generation, from_time, unowned_ms"""
_REBALANCES = """
    SELECT g.group_id, g.incarnation, g.generation, r.total_ms,
        UNIX_MILLIS(g.preparing_time) AS from_ms,
        UNIX_MILLIS(COALESCE(r.to_time, g.stable_time, g.joined_time)) AS to_ms
    FROM generations g JOIN rebalance_latency r ON r.group_id = g.group_id
        AND r.incarnation = g.incarnation AND r.generation = g.generation
    WHERE g.preparing_time IS NOT NULL"""
_FAILOVERS = """
    SELECT group_id, incarnation, generations, UNIX_MILLIS(from_time) AS from_ms,
        UNIX_MILLIS(to_time) AS to_ms
    FROM episodes WHERE kind = 'coordinator_failover'"""

Row = dict[str, Any]


def lives(starts: Iterable[Row], lines: Iterable[Row], software: Iterable[Row]) -> list[BrokerLife]:
    """``starts``, ``lines`` and ``software`` are rows of the queries above."""
    started = by(lambda each: each["broker_id"], starts)
    named = {
        each["file"]: [
            name.split(" ")[1] for name in each["software"].splitlines() if name.startswith("java ")
        ]
        for each in software
    }
    of_lives = by(lambda each: (each["broker_id"], each["life"]), lines)
    upgraded = {broker_id for (broker_id, _), own in of_lives.items() if _coordinator(own) == SCALA}
    result = []
    for (broker_id, life), own in sorted(of_lives.items()):
        stops = [each["last_ms"] for each in own if each["step"] == "shutting_down"]
        begun = _of_groups(own)
        if not life and not begun and not stops:
            continue  # The first start logs these lines before the coordinator starts.
        versions = {
            ranges for each in own for ranges in broker_versions(each["line"], each["reason"])
        }
        if broker_id in upgraded and (coordinator := _coordinator(own)):
            versions.add(ranges_of(coordinator))
        names = {name for each in own for name in named.get(each["file_id"], ())}
        result.append(
            BrokerLife(
                broker_id=broker_id,
                started_ms=started[broker_id][life - 1]["at_ms"] if life else None,
                stopped_ms=max(stops, default=None),
                last_ms=max(begun or [each["last_ms"] for each in own]),
                wordings=consistent(sorted(versions)),
                named=sorted(names),
            )
        )
    return result


def _coordinator(lines: Iterable[Row]) -> str | None:
    """SCALA or JAVA, by the loggers of a life, or None if they do not show it."""
    loggers = [each["logger"] or "" for each in lines]
    if any(each.startswith("org.apache.kafka.coordinator.group.") for each in loggers):
        return JAVA
    return SCALA if any(each.startswith("kafka.coordinator.group.") for each in loggers) else None


def _of_groups(lines: Iterable[Row]) -> list[int]:
    """Times of lines about groups: lines of the coordinator's threads may precede its start."""
    return [each["last_ms"] for each in lines if each["event"] != "OTHER"]


def moves(changes: Iterable[Row]) -> list[GroupMove]:
    """``changes`` are rows of _MOVES."""
    result: list[GroupMove] = []
    unloaded: dict[tuple[str, int], int] = {}
    for each in changes:
        group_id, at_ms, previous_id = each["group_id"], each["at_ms"], each["previous_broker_id"]
        if each["change"] == "unloaded":
            unloaded[group_id, each["broker_id"]] = at_ms
        else:
            from_ms = unloaded.pop((group_id, previous_id), 0)
            is_known = at_ms - from_ms <= MOVE_MS
            result.append(GroupMove(group_id, from_ms if is_known else None, at_ms, previous_id))
    return result


def disruptions(
    gaps: Iterable[Row], rebalances: Iterable[Row], failovers: Iterable[Row]
) -> list[Disruption]:
    """``gaps``, ``rebalances`` and ``failovers`` are rows of _GAPS, _REBALANCES and _FAILOVERS."""
    of_group = by(lambda each: each["group_id"], failovers)

    def is_failover(row: Row) -> bool:
        return any(
            row["incarnation"] == each["incarnation"]
            and (
                row["generation"] in each["generations"]
                or (each["from_ms"] <= row["to_ms"] <= each["to_ms"])
            )
            for each in of_group.get(row["group_id"], ())
        )

    return [
        Disruption(
            group_id=each["group_id"],
            from_ms=each["from_ms"],
            to_ms=each["to_ms"],
            partitions=each.get("partitions", 0),
            not_stable_ms=each.get("total_ms") or 0,
            is_failover=is_failover(each),
        )
        for each in (*gaps, *rebalances)
    ]


def row(episode: BrokerEpisode, of_groups: Sequence[GroupCost], *, has_gaps: bool) -> Row:
    first = episode.restarts[0]
    unowned_ms = sum(each.unowned_partition_ms for each in of_groups)
    return {
        "from_time": _time(episode.from_ms),
        "first_broker_id": first.broker_id,
        "event_date": _time(episode.from_ms).date(),
        "to_time": _time(episode.to_ms),
        "kind": episode.kind.value,
        "brokers": [
            (each.broker_id, _time(each.stopped_ms), _time_or_none(each.started_ms), each.killed,
             each.from_version, each.to_version)
            for each in episode.restarts
        ],
        "from_version": first.from_version,
        "to_version": first.to_version,
        "groups": [tuple(each) for each in of_groups],
        "moves": sum(each.moves for each in of_groups),
        "rebalances": sum(each.rebalances for each in of_groups),
        "not_stable_ms": sum(each.not_stable_ms for each in of_groups),
        "unowned_partition_ms": unowned_ms if has_gaps else None,
        "summary": summary(episode, of_groups),
        "confidence": episode.confidence,
    }  # fmt: skip


def _time(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def _time_or_none(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else _time(at_ms)


def _outages(frame: Callable[[str], DataFrame]) -> list[tuple[int, int]]:
    rows = outages(frame("timeline"), frame("committed_offsets"))
    return sorted({(each["since_ms"], each["until_ms"]) for each in rows.collect()})


def _rows(evidence: EngineEvidence, frame: Callable[[str], DataFrame]) -> list[Row]:
    if not evidence.has("broker_log_events"):
        return []
    starts = evidence.rows(_STARTS)
    lines = evidence.rows(_LIVES)
    of_brokers = lives(starts, lines, evidence.rows(_SOFTWARE))
    if not any(each.stopped_ms or each.started_ms for each in of_brokers):
        return []
    moved = moves(evidence.rows(_MOVES))
    episodes = broker_episodes(of_brokers, _outages(frame), moved)
    if not episodes:
        return []
    disrupted = disruptions(*map(evidence.rows, (_GAPS, _REBALANCES, _FAILOVERS)))
    of_groups = costs(episodes, moved, disrupted)
    has_gaps = evidence.has("group_metadata") or evidence.has("group_records")
    return [
        row(episode, own, has_gaps=has_gaps)
        for episode, own in zip(episodes, of_groups, strict=True)
    ]


def run(scope: RunScope) -> None:
    def frame(table: str) -> DataFrame:
        if "event_date" not in table_partitioning(table):
            return scope.lake.read(table)
        return scope.read_days(table, before=2 * AROUND, after=2 * AROUND)

    evidence = EngineEvidence(frame, partial(may_have_rows, scope.lake))
    names = schema_of("broker_episodes").names
    cluster = {"cluster_id": scope.lake.cluster_id}
    rows = [[(cluster | each)[name] for name in names] for each in _rows(evidence, frame)]
    frames = scope.lake.frame("broker_episodes", rows)
    scope.replace_days("broker_episodes", frames, before=AROUND, after=AROUND)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("broker_episodes")
