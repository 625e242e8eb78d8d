"""The checks: a SELECT over the lake, and the message of an alert.

The SELECTs read tables of the lake, and `spans` (rebalances up to now), `phases` (generations),
`clock` (cluster_id, window_start, now), `limits` (thresholds per group), `finding_kinds` and
`slo_budgets`, which alerting.py creates.  The SELECTs return cluster_id, group_id, process,
first_time, last_time, value, threshold and detail (a text for the message), for problems within the
window or at its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.coordinator.group_types import GROUP_TYPES
from coordinator_core.figures import counted


class Alert(NamedTuple):
    """``unit`` is of ``value`` and ``threshold``.  ``first_time``, ``last_time``: UTC, of the first
    and last counted event, or of the state; ``last_time`` is now if the problem lasts."""

    alert: str
    cluster_id: str
    group_id: str
    process: str | None
    first_time: datetime
    last_time: datetime
    value: int
    threshold: int
    unit: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Check:
    """``setting`` is its field of Thresholds.  ``unit`` is the unit of the alert's value.
    ``needs_brokers`` means that clients' logs alone do not show the problem.  ``is_root_cause``
    means that its message leads with no episode.
    """

    name: str
    setting: str
    about: str
    sql: str
    message: Callable[[int, int, str], str]  # value, threshold, detail
    unit: str = "rebalances"
    # tables that a lake may lack, in which case the check is omitted
    optional: tuple[str, ...] = ()
    needs_brokers: bool = False
    is_root_cause: bool = False


# The SQL of view `storms`, with the pause of each group's thresholds.
STORM = """
    SELECT cluster_id, group_id, NULL AS process, MIN(began) AS first_time,
        CASE WHEN now < MAX(ended) + TO_SECONDS(pause_s) THEN now ELSE MAX(ended) END AS last_time,
        COUNT(*) AS value, storm_rebalances AS threshold,
        CONCAT_WS(' ', COALESCE(SUM(rebalances), 0), COALESCE(SUM(aborted_rebalances), 0),
            COALESCE(SUM(superseded_targets), 0), COUNT(*) FILTER (outcome = 'empty'),
            COALESCE(MODE(cause ORDER BY began), '')) AS detail
    FROM (
        SELECT *, SUM(CASE WHEN began < previous_end + TO_SECONDS(pause_s) THEN 0 ELSE 1 END) OVER (
            PARTITION BY cluster_id, group_id ORDER BY incarnation, generation
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS run
        FROM (
            SELECT s.*, k.now, k.window_start, l.storm_pause_s AS pause_s, l.storm_rebalances,
                LAG(s.ended) OVER (
                    PARTITION BY s.cluster_id, s.group_id ORDER BY s.incarnation, s.generation
                ) AS previous_end
            FROM spans s
            JOIN clock k ON k.cluster_id = s.cluster_id
            JOIN limits l ON l.group_id = s.group_id
            WHERE l.storm_rebalances > 0
        )
    )
    GROUP BY cluster_id, group_id, run, now, window_start, pause_s, storm_rebalances
    HAVING COUNT(*) >= storm_rebalances AND MAX(ended) > window_start"""


def _phase(number: int, stable: str) -> str:
    """SQL of the group's state in a phase; ``stable`` is the text for types that stay
    Stable in it.
    """
    states = [
        (each.name, stable if each.is_stable_in_phases else each.phases[number])
        for each in GROUP_TYPES.values()
    ]
    cases = " ".join(f"WHEN '{name}' THEN '{state}'" for name, state in states)
    return f"CASE COALESCE(group_type, '{CLASSIC.name}') {cases} END"


# A phase ends with the next phase, with the next rebalance, or with the group's deletion.  The
# phase lasts if none of these events is in the lake before now.  A share group is Stable in both
# phases of a rebalance. Clients of a consumer group do not log when all members have reached the
# target.  A client that leaves, or whose log ends, during a rebalance does not know how long the
# rebalance lasts.
STUCK = f"""
    SELECT cluster_id, group_id, NULL AS process, since AS first_time, until AS last_time,
        CAST(FLOOR(EPOCH(until - since)) AS BIGINT) AS value, stuck_s AS threshold, phase AS detail
    FROM (
        SELECT p.cluster_id, p.group_id, p.phase, p.since, k.window_start, l.stuck_s,
            CASE WHEN p.over <= k.now THEN p.over ELSE k.now END AS until
        FROM (
            SELECT *, {_phase(0, "Stable without a target assignment")} AS phase,
                preparing_time AS since,
                COALESCE(joined_time, stable_time, ended_time, next_time, seen_until) AS over
            FROM phases WHERE preparing_time IS NOT NULL
            UNION ALL
            SELECT *, {_phase(1, "Stable with members behind the target")}, joined_time,
                COALESCE(stable_time, ended_time, next_time)
            FROM phases WHERE joined_time IS NOT NULL AND outcome <> 'empty'
                AND NOT (outcome = 'unknown' AND COALESCE(evidence, '') = 'clients')
        ) p
        JOIN clock k ON k.cluster_id = p.cluster_id
        JOIN limits l ON l.group_id = p.group_id
        WHERE p.since <= k.now AND l.stuck_s > 0
    )
    WHERE until > window_start AND until - since >= TO_SECONDS(stuck_s)"""

# Processes that rejoined.  A static member that returns without a rebalance costs nothing, unless a
# second process with its instance id runs.
FLAPPING = """
    SELECT cluster_id, group_id, process, MIN(rejoined) AS first_time, MAX(rejoined) AS last_time,
        COUNT(*) AS value, flaps AS threshold,
        COALESCE(MAX(story) FILTER (story = 'takeover'), '') AS detail
    FROM (
        SELECT c.cluster_id, c.group_id, c.story, l.flaps,
            COALESCE(m.process, c.instance_id, c.member_id) AS process,
            COALESCE(c.event_time, s.began) AS rejoined
        FROM rebalance_causes c
        JOIN spans s ON s.cluster_id = c.cluster_id AND s.group_id = c.group_id
            AND s.incarnation = c.incarnation AND s.generation = c.generation
        JOIN clock k ON k.cluster_id = c.cluster_id
        JOIN limits l ON l.group_id = c.group_id
        LEFT JOIN (
            SELECT cluster_id, group_id, incarnation, member_id, ANY_VALUE(process) AS process
            FROM generation_members WHERE {dates} GROUP BY ALL
        ) m ON m.cluster_id = c.cluster_id AND m.group_id = c.group_id
            AND m.incarnation = c.incarnation AND m.member_id = c.member_id
        WHERE c.{dates} AND l.flaps > 0
            AND (c.cause = 'MEMBER_NEW' AND c.story = 'return'
                OR c.cause = 'STATIC_REPLACED' AND (c.story = 'takeover' OR c.role <> 'absorbed'))
            AND COALESCE(c.event_time, s.began) > k.window_start
            AND COALESCE(c.event_time, s.began) <= k.now
    )
    GROUP BY cluster_id, group_id, process, flaps
    HAVING COUNT(*) >= flaps"""

# A partition that left the subscription because its topic was deleted has no owner either.  The
# detail ends with + if the longest time may be longer.
UNOWNED = """
    SELECT cluster_id, group_id, NULL AS process, MIN(from_time) AS first_time,
        MAX(until) AS last_time, CAST(FLOOR(EPOCH(MAX(until - from_time))) AS BIGINT) AS value,
        unowned_s AS threshold,
        CONCAT(COUNT(DISTINCT (topic, partition)),
            CASE WHEN ARG_MAX(is_least, until - from_time) THEN '+' ELSE '' END) AS detail
    FROM (
        SELECT g.cluster_id, g.group_id, g.topic, g.partition, g.from_time, k.window_start,
            l.unowned_s, CASE WHEN g.to_time <= k.now THEN g.to_time ELSE k.now END AS until,
            COALESCE(g.to_time, TIMESTAMP 'infinity') > k.now
                OR COALESCE(g.unowned_ms_high > g.unowned_ms, FALSE) AS is_least
        FROM ownership_gaps g
        JOIN clock k ON k.cluster_id = g.cluster_id
        JOIN limits l ON l.group_id = g.group_id
        WHERE g.{dates} AND g.why <> 'not_assigned' AND g.from_time <= k.now AND l.unowned_s > 0
    )
    WHERE until > window_start AND until - from_time >= TO_SECONDS(unowned_s)
    GROUP BY cluster_id, group_id, unowned_s"""

# All members of a group were removed, and no evidence shows that they left by themselves.  Static
# members do not leave when they are closed; only their last commit shows that they were closed.
NO_MEMBERS = """
    SELECT cluster_id, group_id, NULL AS process, MIN(since) AS first_time, MAX(until) AS last_time,
        CAST(FLOOR(EPOCH(MAX(until - since))) AS BIGINT) AS value, no_members_s AS threshold,
        '' AS detail
    FROM (
        SELECT p.cluster_id, p.group_id, p.joined_time AS since, k.window_start, l.no_members_s,
            LEAST(p.next_time, p.ended_time, k.now) AS until
        FROM phases p
        JOIN episodes e ON e.cluster_id = p.cluster_id AND e.group_id = p.group_id
            AND e.incarnation = p.incarnation AND LIST_CONTAINS(e.generations, p.generation)
        JOIN clock k ON k.cluster_id = p.cluster_id
        JOIN limits l ON l.group_id = p.group_id
        WHERE e.{dates} AND p.outcome = 'empty' AND l.no_members_s > 0
            AND (e.kind IN ('process_lost', 'process_lost_or_frozen', 'host_lost',
                    'process_frozen', 'coordinator_failover')
                OR e.kind = 'shutdown' AND e.confidence < 0.8)
    )
    WHERE until > window_start AND until - since >= TO_SECONDS(no_members_s)
    GROUP BY cluster_id, group_id, no_members_s"""

MOVED_NOTHING = """
    SELECT s.cluster_id, s.group_id, NULL AS process, MIN(s.began) AS first_time,
        MAX(s.ended) AS last_time, COUNT(*) AS value, l.moved_nothing AS threshold,
        COALESCE(MODE(s.cause ORDER BY s.began), '') AS detail
    FROM spans s
    JOIN churn c ON c.cluster_id = s.cluster_id AND c.group_id = s.group_id
        AND c.incarnation = s.incarnation AND c.generation = s.generation
    JOIN clock k ON k.cluster_id = s.cluster_id
    JOIN limits l ON l.group_id = s.group_id
    WHERE c.{dates} AND l.moved_nothing > 0 AND s.outcome = 'stable' AND s.ended <= k.now
        AND s.ended > k.window_start
        AND c.partitions_moved = 0 AND c.partitions_orphaned = 0 AND c.partitions_new = 0
    GROUP BY s.cluster_id, s.group_id, l.moved_nothing
    HAVING COUNT(*) >= l.moved_nothing"""

OVER_BUDGET = """
    SELECT s.cluster_id, s.group_id, NULL AS process, MIN(s.began) AS first_time,
        MAX(s.began) AS last_time, COUNT(*) AS value, l.rebalances_per_day AS threshold,
        COALESCE(MODE(s.cause ORDER BY s.began), '') AS detail
    FROM spans s
    JOIN clock k ON k.cluster_id = s.cluster_id
    JOIN limits l ON l.group_id = s.group_id
    WHERE l.rebalances_per_day > 0 AND s.rebalances = 1 AND s.began > k.now - INTERVAL 1 DAY
    GROUP BY s.cluster_id, s.group_id, l.rebalances_per_day
    HAVING COUNT(*) > l.rebalances_per_day"""


# The finding of highest confidence per group and process, or per broker; its text has the number of
# the other findings.
FINDING = """
    SELECT cluster_id, group_id, process, from_time AS first_time, until AS last_time,
        CAST(ROUND(100 * confidence) AS BIGINT) AS value, finding_percent AS threshold,
        finding || ' (' || kind || '): ' || summary
            || CASE WHEN together > 1 THEN '; ' || (together - 1) || ' more' ELSE '' END AS detail
    FROM (
        SELECT *, ROW_NUMBER() OVER (
                PARTITION BY cluster_id, group_id, process
                ORDER BY confidence DESC, from_time, finding, summary) AS place,
            COUNT(*) OVER (PARTITION BY cluster_id, group_id, process) AS together
        FROM (
            SELECT f.cluster_id, COALESCE(f.group_id, '') AS group_id, f.finding, f.kind,
                f.from_time, f.confidence, f.summary, l.finding_percent, k.window_start,
                COALESCE(f.process, f.member_id, 'broker ' || f.broker_id, f.topic_partition)
                    AS process,
                CASE WHEN f.to_time <= k.now THEN f.to_time ELSE k.now END AS until
            FROM findings f
            JOIN finding_kinds USING (kind)
            JOIN clock k ON k.cluster_id = f.cluster_id
            JOIN limits l ON l.group_id = COALESCE(f.group_id, '')
            WHERE f.{dates} AND f.from_time <= k.now AND l.finding_percent > 0
                AND ROUND(100 * f.confidence) >= l.finding_percent
                AND f.finding NOT IN ('poison_pill', 'stuck_partition')
        )
        WHERE until > window_start
    )
    WHERE place = 1"""

# How much a group used of the error budgets of its objectives on a date
# (`jobs.lake.service_levels`).
SLO = """
    SELECT cluster_id, group_id, NULL AS process, MIN(CAST(event_date AS TIMESTAMP)) AS first_time,
        MAX(LEAST(now, CAST(event_date AS TIMESTAMP) + INTERVAL 1 DAY)) AS last_time,
        CAST(FLOOR(MAX(used_percent)) AS BIGINT) AS value, slo_percent AS threshold,
        STRING_AGG(missed, '; ' ORDER BY used_percent DESC, objective) AS detail
    FROM (
        SELECT b.*, k.now, l.slo_percent, CASE objective
            WHEN 'served_percent' THEN PRINTF(
                'served %.2f %% of the partition time, objective %g %%', value, objective_value)
            WHEN 'reprocessed_per_day' THEN
                PRINTF('%.0f records handled again, objective %.0f', value, objective_value)
            ELSE PRINTF('%.0f s to catch up, objective %g s', value, objective_value)
        END AS missed
        FROM slo_budgets b
        JOIN clock k ON k.cluster_id = b.cluster_id
        JOIN limits l ON l.group_id = b.group_id
        WHERE l.slo_percent > 0 AND b.used_percent >= l.slo_percent
            AND b.event_date BETWEEN CAST(k.window_start AS DATE) AND CAST(k.now AS DATE)
    )
    GROUP BY cluster_id, group_id, event_date, slo_percent"""


def _of_partitions(finding: str, value: str, threshold: str) -> str:
    """SQL of the partitions that have this finding."""
    return f"""
    SELECT cluster_id, group_id, topic_partition AS process, from_time AS first_time,
        until AS last_time, CAST({value} AS BIGINT) AS value, {threshold} AS threshold,
        summary AS detail
    FROM (
        SELECT f.cluster_id, f.group_id, f.topic_partition, f.from_time, f.confidence, f.summary,
            l.{threshold}, k.window_start,
            CASE WHEN f.to_time <= k.now THEN f.to_time ELSE k.now END AS until
        FROM findings f
        JOIN clock k ON k.cluster_id = f.cluster_id
        JOIN limits l ON l.group_id = f.group_id
        WHERE f.{{dates}} AND f.finding = '{finding}' AND f.from_time <= k.now AND l.{threshold} > 0
    )
    WHERE until > window_start AND {value} >= {threshold}"""


def _mostly(cause: str) -> str:
    return f", mostly {cause}" if cause else ""


def _in_a_row(generations: int, detail: str) -> str:
    """The number of the storm's generations by what they count as (docs/metrics.md), and their main
    cause.
    """
    *counts, cause = detail.split(" ")
    rebalances, aborted, superseded, empty = map(int, counts)
    if rebalances == generations and not superseded:
        return f"{counted(generations, 'rebalance')} in a row{_mostly(cause)}"
    of_targets = f" ({counted(superseded, 'superseded target')})" if superseded else ""
    kinds = [counted(rebalances, "rebalance") + of_targets]
    unknown = generations - rebalances - aborted - empty
    others = {"aborted": aborted, "empty": empty, "with unknown outcome": unknown}
    kinds += [f"{number:,} {word}" for word, number in others.items() if number]
    return f"{counted(generations, 'generation')} in a row: {', '.join(kinds)}{_mostly(cause)}"


CHECKS = (
    Check(
        name="storm",
        setting="storm_rebalances",
        about="generations in a row, with short pauses",
        sql=STORM,
        message=lambda value, _, detail: _in_a_row(value, detail),
        unit="generations",
    ),
    Check(
        name="stuck",
        setting="stuck_s",
        about="a stuck rebalance",
        sql=STUCK,
        message=lambda value, _, phase: f"in {phase} for {value} s",
        unit="seconds",
    ),
    Check(
        name="unowned",
        setting="unowned_s",
        about="partitions that no process consumes",
        sql=UNOWNED,
        message=lambda value, _, partitions: (
            f"{counted(int(partitions.rstrip('+')), 'partition')} without an owner, the longest"
            f" for {'at least ' if partitions.endswith('+') else ''}{value} s"
        ),
        unit="seconds",
        optional=("ownership_gaps",),
        needs_brokers=True,
    ),
    Check(
        name="no_members",
        setting="no_members_s",
        about="a group whose members were all removed",
        sql=NO_MEMBERS,
        message=lambda value, *_: f"no members for {value} s: all sessions expired",
        unit="seconds",
        optional=("episodes",),
        needs_brokers=True,
    ),
    Check(
        name="flapping",
        setting="flaps",
        about="a process that repeatedly leaves and rejoins",
        sql=FLAPPING,
        message=lambda value, _, story: (
            f"rejoined {counted(value, 'time')}"
            + (", replacing a live member with the same instance id" if story == "takeover" else "")
        ),
        unit="rejoins",
    ),
    Check(
        name="moved_nothing",
        setting="moved_nothing",
        about="rebalances that changed no owner",
        sql=MOVED_NOTHING,
        message=lambda value, _, cause: (
            f"{counted(value, 'rebalance')} moved no partition{_mostly(cause)}"
        ),
        needs_brokers=True,
    ),
    Check(
        name="over_budget",
        setting="rebalances_per_day",
        about="more rebalances in 24 hours than the budget",
        sql=OVER_BUDGET,
        message=lambda value, threshold, cause: (
            f"{counted(value, 'rebalance')} in 24 hours, budget {threshold}{_mostly(cause)}"
        ),
    ),
    Check(
        name="stuck_partition",
        setting="stuck_partition_s",
        about="a partition without progress while its owner consumes others",
        sql=_of_partitions(
            "stuck_partition", "FLOOR(EPOCH(until - from_time))", "stuck_partition_s"
        ),
        message=lambda value, _, text: f"{text}; since {value} s",
        unit="seconds",
        optional=("findings",),
        is_root_cause=True,
    ),
    Check(
        name="poison_pill",
        setting="poison_pill_percent",
        about="a record that kills every consumer that processes it",
        sql=_of_partitions("poison_pill", "ROUND(100 * confidence)", "poison_pill_percent"),
        message=lambda value, _, text: f"{text}; confidence {value} %",
        unit="percent",
        optional=("findings",),
        is_root_cause=True,
    ),
    Check(
        name="finding",
        setting="finding_percent",
        about="a known defect, a wrong setting, or a coordinator failure",
        sql=FINDING,
        message=lambda value, _, text: f"{text}; confidence {value} %",
        unit="percent",
        optional=("findings",),
        is_root_cause=True,
    ),
    Check(
        name="slo",
        setting="slo_percent",
        about="a service level objective that was missed",
        sql=SLO,
        message=lambda value, _, text: f"{text}; {value:,} % of the day's error budget used",
        unit="percent",
        is_root_cause=True,
    ),
)
