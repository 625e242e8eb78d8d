"""Episodes and advice of a report: root causes with their cost, and settings that reduce it.

Times are in ms since the epoch.  The lists of a page are short: the costliest rows first.
"""

from __future__ import annotations

from typing import Any

from coordinator_core.episodes.episode_kind import NOT_INCIDENTS
from jobs.report.lake import ReportLake

Json = dict[str, Any]

MOST_EPISODES = 20  # maximum number of episodes of a kind, over all groups, in the headline
MOST_ADVICE = 100

_ANY = "SELECT COUNT(*) FROM shown_episodes"

_LISTED = f"""
    SELECT group_id, kind, from_ms, to_ms, rebalances, unowned_partition_ms,
        unserved_partition_ms, text AS summary,
        REGEXP_REPLACE(group_id, '[0-9]+', '*', 'g') AS pattern,
        COUNT(*) OVER (PARTITION BY kind, pattern) AS alike,
        COUNT(DISTINCT group_id) OVER (PARTITION BY kind, pattern) AS alike_groups,
        SUM(cost_ms) OVER (PARTITION BY kind, pattern)::BIGINT AS alike_cost_ms
    FROM shown_episodes WHERE kind NOT IN {NOT_INCIDENTS}
    QUALIFY ROW_NUMBER() OVER (PARTITION BY kind ORDER BY place) <= {MOST_EPISODES}
    ORDER BY place"""

KINDS = f"""
    SELECT kind, COUNT(*) AS episodes, COUNT(DISTINCT group_id) AS groups,
        SUM(LEN(processes))::BIGINT AS processes, SUM(rebalances)::BIGINT AS rebalances,
        SUM(not_stable_ms)::BIGINT AS not_stable_ms,
        SUM(unowned_partition_ms)::BIGINT AS unowned_partition_ms,
        SUM(unowned_partition_ms_low)::BIGINT AS unowned_partition_ms_low,
        SUM(unowned_partition_ms_high)::BIGINT AS unowned_partition_ms_high,
        COUNT(unowned_partition_ms) FILTER (WHERE COALESCE(rebalances_without_begin, 0) = 0)
            AS with_downtime,
        SUM(partitions_moved)::BIGINT AS partitions_moved,
        SUM(unserved_partition_ms)::BIGINT AS unserved_partition_ms,
        ROUND(SUM(records_reprocessed))::BIGINT AS records_reprocessed
    FROM shown_episodes WHERE kind NOT IN {NOT_INCIDENTS}
    GROUP BY kind
    ORDER BY SUM(cost_ms) DESC NULLS LAST, not_stable_ms DESC NULLS LAST, rebalances DESC, kind"""

# Kinds of episodes per group, highest cost first.
KINDS_OF_GROUPS = f"""
    SELECT group_id, LIST({{'kind': kind, 'episodes': episodes}}
        ORDER BY ms DESC NULLS LAST, episodes DESC, kind) AS kinds
    FROM (SELECT group_id, kind, COUNT(*) AS episodes, SUM(cost_ms) AS ms
        FROM shown_episodes WHERE kind NOT IN {NOT_INCIDENTS} GROUP BY ALL)
    GROUP BY group_id ORDER BY group_id"""

# A broker episode appears beside the episodes of each group whose coordinator it moved.
_OF_GROUPS = """
    SELECT group_id, incarnation, kind, from_ms, to_ms, processes, first_generation,
        last_generation, rebalances, not_stable_ms, unowned_partition_ms, text AS summary, evidence,
        confidence
    FROM (
        SELECT group_id, incarnation, kind, from_ms, to_ms, processes, first_generation,
            last_generation, rebalances, not_stable_ms, unowned_partition_ms, text, evidence,
            confidence, activity_time, episode
        FROM shown_episodes WHERE group_id IN $ids
        UNION ALL
        SELECT g.group_id, NULL, kind, from_ms, to_ms,
            ['broker ' || b.broker_id FOR b IN brokers], NULL, NULL, g.rebalances,
            g.not_stable_ms, g.unowned_partition_ms, summary, 'log', confidence, NULL, NULL
        FROM (SELECT *, UNNEST(groups) AS g FROM shown_broker_episodes) WHERE g.group_id IN $ids)
    ORDER BY group_id, from_ms, activity_time NULLS FIRST, episode"""

_OF_BROKERS = """
    SELECT kind, from_ms, to_ms, summary FROM shown_broker_episodes
    ORDER BY from_ms, summary"""

_ADVICE = """
    SELECT a.group_id, a.setting, a.sentence, a.saved_unowned_partition_ms, a.share_saved,
        a.client_properties, a.broker_properties, a.risk, a.rejected, a.worse, a.assumption,
        a.confidence, a.confidence_reason, a.makes_better, a.makes_worse, a.whose,
        a.settings_in_force
    FROM advice a JOIN scope ON a.cluster_id = scope.cluster_id
        AND (scope.only_group IS NULL OR a.group_id = scope.only_group)
    {}"""
ADVICE_ROWS = _ADVICE.format("WHERE a.setting IS NOT NULL")
ADVICE_ORDER = "saved_unowned_partition_ms DESC NULLS LAST, group_id"
_ALL_ADVICE = _ADVICE.format(f"""
    ORDER BY a.setting IS NULL, a.saved_unowned_partition_ms DESC, a.group_id
    LIMIT {MOST_ADVICE}""")
_ADVICE_OF_GROUPS = _ADVICE.format("WHERE a.group_id IN $ids ORDER BY a.group_id")

# Advice that was not carried out has no verdict, so a page of all groups omits such rows.
_OUTCOMES = """
    SELECT o.group_id, o.settings, o.verdict, o.carried_out, o.evidence, o.reason,
        EPOCH_MS(o.first_advised_time) AS first_advised_ms,
        EPOCH_MS(o.carried_out_from_time) AS from_ms, EPOCH_MS(o.carried_out_time) AS to_ms,
        o.kind, o.processes, o.deployments_before, o.deployments_after, o.figures,
        o.interval_basis, o.other_changes
    FROM advice_outcomes o JOIN scope ON o.cluster_id = scope.cluster_id
        AND (scope.only_group IS NULL OR o.group_id = scope.only_group)
    {}"""
_ALL_OUTCOMES = _OUTCOMES.format(f"""
    WHERE o.verdict IS NOT NULL
    ORDER BY o.verdict = 'not comparable', o.carried_out_from_time DESC, o.group_id, o.setting
    LIMIT {MOST_ADVICE}""")
_OUTCOMES_OF_GROUPS = _OUTCOMES.format(
    "WHERE o.group_id IN $ids ORDER BY o.group_id, o.first_advised_time DESC, o.setting"
)


def episodes(lake: ReportLake) -> Json | None:
    """The costliest episodes, the kinds of all episodes, and the kinds per group; null if there is
    no episode, not even a start."""
    if "episodes" not in lake.has or not lake.rows(_ANY).rows[0][0]:
        return None
    return {
        "listed": lake.rows(_LISTED).json(),
        "kinds": lake.rows(KINDS).json(),
        "of_groups": [list(row) for row in lake.rows(KINDS_OF_GROUPS).rows],
    }


def broker_episodes(lake: ReportLake) -> Json | None:
    """The episodes of the cluster's brokers in order of time; null without the table."""
    return lake.rows(_OF_BROKERS).json() if "broker_episodes" in lake.has else None


def advice(lake: ReportLake) -> Json | None:
    """The advice with the largest saving first; null without the table."""
    return lake.rows(_ALL_ADVICE).json() if "advice" in lake.has else None


def outcomes(lake: ReportLake) -> Json | None:
    """The results of advice that was carried out; null without the table."""
    return lake.rows(_ALL_OUTCOMES).json() if "advice_outcomes" in lake.has else None


# Queries about several groups: each row begins with its group_id, and rows are ordered by group.
OF_GROUPS = {
    "episodes": _OF_GROUPS,
    "advice": _ADVICE_OF_GROUPS,
    "advice_outcomes": _OUTCOMES_OF_GROUPS,
}
