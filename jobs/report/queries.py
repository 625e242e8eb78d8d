"""DuckDB queries of a report.  Times are in ms since the epoch.

Table `scope` has one row: cluster_id, only_group (null: all), from_ms, to_ms.
"""

from __future__ import annotations

from jobs.lake.group_types import HAS_EPOCHS, IS_CLASSIC, TYPE_OR_CLASSIC

COOPERATIVE = (
    "cooperative-sticky",
    "stream",
)  # Members keep consuming the partitions that they retain.

# A generation lasts from the first event of its rebalance to the first event of the next rebalance.
_ALL_SPANS = f"""
    CREATE TEMP TABLE all_spans AS
    SELECT g.group_id, g.incarnation, g.generation, g.outcome, g.protocol,
        {TYPE_OR_CLASSIC} AS group_type,
        EPOCH_MS(g.preparing_time) AS preparing_ms, EPOCH_MS(g.joined_time) AS joined_ms,
        EPOCH_MS(g.stable_time) AS stable_ms,
        COALESCE(g.protocol IN {COOPERATIVE}, FALSE) AS is_cooperative,
        COALESCE(EPOCH_MS(g.preparing_time), EPOCH_MS(g.joined_time), EPOCH_MS(g.stable_time),
            EPOCH_MS(g.event_date::TIMESTAMP)) AS begin_ms,
        COALESCE(EPOCH_MS(g.ended_time), LEAD(begin_ms) OVER (
            PARTITION BY g.group_id ORDER BY g.incarnation, g.generation)) AS end_ms
    FROM generations g JOIN scope ON g.cluster_id = scope.cluster_id
        AND (scope.only_group IS NULL OR g.group_id = scope.only_group)"""

CLUSTERS = "SELECT DISTINCT cluster_id FROM generations ORDER BY cluster_id"

# Facts about whole clusters, which the queries of each group need.
OF_CLUSTERS = (
    "CREATE TABLE observed AS SELECT * FROM observed_spans",
    "CREATE OR REPLACE VIEW observed_spans AS SELECT * FROM main.observed",
    """
    CREATE TABLE last_events AS
    SELECT cluster_id, MAX(EPOCH_MS(event_time)) AS last_ms FROM timeline GROUP BY cluster_id""",
)

_LAST_EVENT = """
    CREATE TEMP TABLE last_event AS
    SELECT GREATEST(
        (SELECT last_ms FROM last_events JOIN scope USING (cluster_id)),
        (SELECT MAX(begin_ms) FROM all_spans)) AS last_ms"""

# A rebalance frees many partitions at the same time; these partitions are one row.
_GAPS_BY_TIME = """
    SELECT g.group_id, g.incarnation, g.generation, g.from_generation,
        EPOCH_MS(g.from_time) AS from_ms, EPOCH_MS(g.from_time) + g.unowned_ms AS to_ms,
        COALESCE(g.unowned_ms_low, g.unowned_ms) AS low_ms,
        COALESCE(g.unowned_ms_high, g.unowned_ms) AS high_ms, COUNT(*) AS partitions
    FROM ownership_gaps g JOIN scope USING (cluster_id) GROUP BY ALL"""
_SHOWN_MS = """partitions
            * GREATEST(LEAST(g.to_ms, scope.to_ms) - GREATEST({}, scope.from_ms), 0)"""
GAPS_WITHIN = f"""
    SELECT g.*, {_SHOWN_MS.format("g.from_ms")} AS shown_ms,
        {_SHOWN_MS.format("g.to_ms - g.low_ms")} AS shown_ms_low,
        {_SHOWN_MS.format("g.to_ms - g.high_ms")} AS shown_ms_high
    FROM {{}} g JOIN scope ON scope.only_group IS NULL OR g.group_id = scope.only_group"""
GAPS = f"CREATE TEMP TABLE gaps AS {GAPS_WITHIN.format(f'({_GAPS_BY_TIME})')}"

# Times in which owned partitions had unprocessed records; both tables are empty if the lake lacks
# their source.
UNSERVED = """
    CREATE TEMP TABLE unserved AS
    SELECT u.group_id, EPOCH_MS(u.from_time) AS from_ms, EPOCH_MS(u.to_time) AS to_ms,
        1 AS partitions, GREATEST(LEAST(EPOCH_MS(u.to_time), scope.to_ms)
            - GREATEST(EPOCH_MS(u.from_time), scope.from_ms), 0) AS shown_ms
    FROM unserved_times u JOIN scope ON u.cluster_id = scope.cluster_id
        AND (scope.only_group IS NULL OR u.group_id = scope.only_group)
    WHERE u.reason <> 'no_progress'"""
NO_UNSERVED = """
    CREATE TEMP TABLE unserved (
        group_id VARCHAR, from_ms BIGINT, to_ms BIGINT, partitions BIGINT, shown_ms BIGINT)"""
COSTS = """
    CREATE TEMP TABLE costs AS
    SELECT c.group_id, SUM(c.records_reprocessed) AS records_reprocessed,
        SUM(c.consumption_pause_ms)::BIGINT AS consumption_pause_ms
    FROM handover_costs c JOIN scope ON c.cluster_id = scope.cluster_id
        AND (scope.only_group IS NULL OR c.group_id = scope.only_group)
        AND EPOCH_MS(c.to_time) BETWEEN scope.from_ms AND scope.to_ms
    GROUP BY c.group_id"""
NO_COSTS = """
    CREATE TEMP TABLE costs (
        group_id VARCHAR, records_reprocessed DOUBLE, consumption_pause_ms BIGINT)"""
EPISODES = """
    CREATE TEMP TABLE shown_episodes AS
    SELECT e.*, EPOCH_MS(e.from_time) AS from_ms, EPOCH_MS(e.to_time) AS to_ms
    FROM episode_costs e JOIN scope ON e.cluster_id = scope.cluster_id
        AND (scope.only_group IS NULL OR e.group_id = scope.only_group)
        AND EPOCH_MS(e.from_time) <= scope.to_ms AND EPOCH_MS(e.to_time) >= scope.from_ms"""
BROKER_EPISODES = """
    CREATE TEMP TABLE shown_broker_episodes AS
    SELECT e.*, EPOCH_MS(e.from_time) AS from_ms, EPOCH_MS(e.to_time) AS to_ms
    FROM broker_episodes e JOIN scope ON e.cluster_id = scope.cluster_id
        AND EPOCH_MS(e.from_time) <= scope.to_ms AND EPOCH_MS(e.to_time) >= scope.from_ms"""
NO_BROKER_EPISODES = """
    CREATE TEMP TABLE shown_broker_episodes (
        kind VARCHAR, from_ms BIGINT, to_ms BIGINT, summary VARCHAR, confidence DOUBLE,
        brokers STRUCT(broker_id INTEGER)[],
        groups STRUCT(group_id VARCHAR, rebalances INTEGER, not_stable_ms BIGINT,
            unowned_partition_ms BIGINT)[])"""
UNSERVED_SOURCE = "CREATE TEMP TABLE unserved_source AS SELECT {} AS is_known"
# Statements with and without a table of the lake.
PREPARE_OPTIONAL = {
    "unserved_times": (UNSERVED, NO_UNSERVED),
    "handover_costs": (COSTS, NO_COSTS),
    "broker_episodes": (BROKER_EPISODES, NO_BROKER_EPISODES),
}

_SPANS = """
    CREATE TEMP TABLE spans AS
    SELECT s.* FROM all_spans s CROSS JOIN last_event JOIN scope
        ON s.begin_ms <= scope.to_ms AND COALESCE(s.end_ms, last_ms) >= scope.from_ms"""

_SHOWN = f"""
    CREATE TEMP TABLE shown AS
    SELECT s.group_id, s.incarnation, s.generation, s.group_type, s.begin_ms, s.preparing_ms,
        s.joined_ms, s.stable_ms, s.end_ms, s.outcome, s.protocol, r.cause, r.story, r.culprit,
        r.culprit_client_host AS culprit_host, r.member_count, r.join_ms, r.sync_ms, r.total_ms,
        r.round, r.members_joined, r.members_left, r.members_expired, r.members_dropped,
        r.members_replaced, r.partitions_moved, r.moves_forced, r.partitions_orphaned,
        r.partitions_new, r.gap_before, r.evidence,
        COALESCE(u.unowned_partition_ms,
            CASE WHEN r.evidence IN ('records', 'both') THEN 0 END)::BIGINT AS unowned_partition_ms,
        COALESCE(u.low_ms, 0)::BIGINT AS unowned_partition_ms_low,
        COALESCE(u.high_ms, 0)::BIGINT AS unowned_partition_ms_high, w.with_members_ms,
        w.rebalances, w.aborted_rebalances, w.superseded_targets, s.is_cooperative,
        COALESCE(r.evidence = 'records' AND s.{IS_CLASSIC}, FALSE) AS is_unlogged
    FROM spans s CROSS JOIN scope
    JOIN rebalances r ON r.cluster_id = scope.cluster_id AND r.group_id = s.group_id
        AND r.incarnation = s.incarnation AND r.generation = s.generation
    JOIN generation_spans w ON w.cluster_id = scope.cluster_id AND w.group_id = s.group_id
        AND w.incarnation = s.incarnation AND w.generation = s.generation
    -- A gap within one generation is a static replacement's, not a rebalance's.
    LEFT JOIN (SELECT group_id, incarnation, generation,
            SUM(partitions * (to_ms - from_ms)) AS unowned_partition_ms,
            SUM(partitions * low_ms) AS low_ms, SUM(partitions * high_ms) AS high_ms
        FROM gaps WHERE generation > from_generation GROUP BY ALL) u
        ON u.group_id = s.group_id AND u.incarnation = s.incarnation
        AND u.generation = s.generation"""

_PROCESSES = """
    CREATE TEMP TABLE processes AS
    SELECT m.group_id, m.member_id, MAX(m.process) AS process
    FROM generation_members m JOIN scope USING (cluster_id) GROUP BY ALL"""

PREPARE = (_ALL_SPANS, _LAST_EVENT, GAPS, _SPANS, _SHOWN, _PROCESSES)

# -- all groups ----------------------------------------------------------------------------------

OVERVIEW = """
    WITH turns AS (
        SELECT group_id, incarnation, generation, group_type, LAG(group_type) OVER (
            PARTITION BY group_id ORDER BY incarnation, generation) AS previous_type
        FROM shown
    ), types AS (
        SELECT group_id, LIST(group_type ORDER BY incarnation, generation) AS types
        FROM turns WHERE previous_type IS DISTINCT FROM group_type GROUP BY group_id
    )
    SELECT group_id, SUM(rebalances)::BIGINT AS rebalances,
        SUM(aborted_rebalances)::BIGINT AS aborted_rebalances,
        SUM(superseded_targets)::BIGINT AS superseded_targets,
        SUM(total_ms)::BIGINT AS not_stable_ms, MAX(total_ms) AS longest_ms,
        QUANTILE_CONT(total_ms, 0.5) AS p50_ms, QUANTILE_CONT(total_ms, 0.95) AS p95_ms,
        SUM(with_members_ms)::BIGINT AS with_members_ms,
        COALESCE(MAX(d.unowned_partition_ms), 0 * MAX(shown.unowned_partition_ms))::BIGINT
            AS unowned_partition_ms,
        COALESCE(MAX(d.low_ms), 0)::BIGINT AS unowned_partition_ms_low,
        COALESCE(MAX(d.high_ms), 0)::BIGINT AS unowned_partition_ms_high,
        CASE WHEN (SELECT is_known FROM unserved_source)
            THEN COALESCE(MAX(n.unserved_ms), 0 * MAX(shown.unowned_partition_ms)) END::BIGINT
            AS unserved_ms,
        ROUND(MAX(c.records_reprocessed))::BIGINT AS records_reprocessed,
        MAX(c.consumption_pause_ms) AS consumption_pause_ms,
        SUM(partitions_moved)::BIGINT AS partitions_moved,
        SUM(moves_forced)::BIGINT AS moves_forced,
        MIN(begin_ms) AS first_ms, MAX(COALESCE(end_ms, last_ms)) AS last_ms,
        ARG_MAX(protocol, begin_ms) AS protocol, MAX(member_count) AS most_members,
        BOOL_OR(is_unlogged) AS is_partly_unlogged,
        ANY_VALUE(t.types) AS types
    FROM shown CROSS JOIN last_event
    LEFT JOIN (SELECT group_id, SUM(shown_ms) AS unowned_partition_ms, SUM(shown_ms_low) AS low_ms,
            SUM(shown_ms_high) AS high_ms
        FROM gaps GROUP BY ALL) d
        USING (group_id)
    LEFT JOIN (SELECT group_id, SUM(shown_ms) AS unserved_ms FROM unserved GROUP BY ALL) n
        USING (group_id)
    LEFT JOIN costs c USING (group_id)
    LEFT JOIN types t USING (group_id)
    GROUP BY group_id
    ORDER BY not_stable_ms DESC NULLS LAST, rebalances DESC, group_id"""

TOTALS = """
    SELECT COUNT(DISTINCT group_id) AS groups,
        SUM(rebalances)::BIGINT AS rebalances,
        SUM(aborted_rebalances)::BIGINT AS aborted_rebalances,
        SUM(superseded_targets)::BIGINT AS superseded_targets,
        SUM(total_ms)::BIGINT AS not_stable_ms, MAX(total_ms) AS longest_ms,
        COALESCE(BOOL_OR(is_unlogged), FALSE) AS is_partly_unlogged,
        COALESCE(ANY_VALUE(gap_ms), 0 * MAX(unowned_partition_ms))::BIGINT
            AS unowned_partition_ms,
        COALESCE(ANY_VALUE(gap_ms_low), 0)::BIGINT AS unowned_partition_ms_low,
        COALESCE(ANY_VALUE(gap_ms_high), 0)::BIGINT AS unowned_partition_ms_high,
        CASE WHEN (SELECT is_known FROM unserved_source)
            THEN COALESCE((SELECT SUM(shown_ms) FROM unserved), 0 * MAX(unowned_partition_ms))
            END::BIGINT AS unserved_ms,
        (SELECT ROUND(SUM(records_reprocessed))::BIGINT FROM costs) AS records_reprocessed
    FROM shown CROSS JOIN (
        SELECT SUM(shown_ms) AS gap_ms, SUM(shown_ms_low) AS gap_ms_low,
            SUM(shown_ms_high) AS gap_ms_high
        FROM gaps)"""

ALL_CAUSES = """
    SELECT group_id, cause, story, COUNT(*) AS generations, SUM(total_ms)::BIGINT AS not_stable_ms
    FROM shown WHERE cause IS NOT NULL {}
    GROUP BY ALL ORDER BY group_id, generations DESC, cause, story"""
CAUSES = ALL_CAUSES.format("AND group_id IN $ids")

TREND = """
    SELECT begin_ms // $bucket_ms * $bucket_ms AS bucket_ms, cause, story, COUNT(*) AS generations,
        SUM(total_ms)::BIGINT AS not_stable_ms
    FROM shown GROUP BY ALL ORDER BY bucket_ms, cause, story"""

# Groups are similar if their names differ only in digits, and their types, assignor, kinds of
# episodes and order of magnitude of partition downtime are the same.
ALL_SPARKS = """
    SELECT group_id, LIST([part, generations] ORDER BY part) AS sparks FROM (
        SELECT group_id, GREATEST(FLOOR((begin_ms - $from_ms) / $part_ms), 0)::INT AS part,
            COUNT(*) AS generations
        FROM shown {} GROUP BY ALL)
    GROUP BY group_id ORDER BY group_id"""
SPARKS = ALL_SPARKS.format("WHERE group_id IN $ids")

STORMS = """
    SELECT w.group_id, EPOCH_MS(w.from_time) AS start_ms, EPOCH_MS(w.to_time) AS end_ms,
        w.generations, w.rebalances, w.aborted_rebalances, w.superseded_targets, w.not_stable_ms,
        w.dominant_cause, w.dominant_percent, w.culprits
    FROM q07_storms w JOIN scope ON w.cluster_id = scope.cluster_id
        AND w.group_id IN $ids
        AND EPOCH_MS(w.from_time) <= scope.to_ms AND EPOCH_MS(w.to_time) >= scope.from_ms
    ORDER BY start_ms, w.group_id"""

# -- several groups: each row begins with its group_id, rows are ordered by group ---------------

GENERATIONS = """
    SELECT * FROM shown WHERE group_id IN $ids
    ORDER BY group_id, incarnation, generation"""

EVENTS = """
    SELECT c.group_id, c.incarnation, c.generation, EPOCH_MS(c.event_time) AS at_ms, c.role,
        c.cause, c.story, p.process, COALESCE(c.instance_id, c.client_id, c.member_id) AS who,
        c.client_host AS host, c.reason, c.client_reason, c.evidence
    FROM rebalance_causes c JOIN scope ON c.cluster_id = scope.cluster_id
    JOIN spans s ON s.group_id = c.group_id AND s.incarnation = c.incarnation
        AND s.generation = c.generation
    LEFT JOIN processes p ON p.group_id = c.group_id AND p.member_id = c.member_id
    WHERE c.group_id IN $ids ORDER BY c.group_id, c.incarnation, c.generation, c.cause_seq"""

# joined_ms is the time of the join if a cause has it, else null.  A modern member that returns
# keeps its member id, so its last join up to the generation counts.
MEMBERS = """
    WITH joins AS (
        SELECT c.group_id, c.incarnation, c.generation, c.member_id,
            MIN(EPOCH_MS(c.event_time)) AS joined_ms
        FROM rebalance_causes c JOIN scope USING (cluster_id)
        WHERE c.group_id IN $ids AND c.cause IN ('MEMBER_NEW', 'STATIC_REPLACED')
        GROUP BY ALL
    ), topics AS (
        SELECT a.group_id, a.incarnation, a.generation, a.process, a.role, a.subtopology, a.topic,
            LIST(a.partition ORDER BY a.partition) AS partitions
        FROM assignments a JOIN scope USING (cluster_id)
        WHERE a.group_id IN $ids AND a.assignor = 'actual' GROUP BY ALL
    ), assigned AS (
        SELECT group_id, incarnation, generation, process,
            LIST({'role': role, 'subtopology': subtopology, 'topic': topic,
                'partitions': partitions} ORDER BY role, subtopology, topic) AS assigned
        FROM topics GROUP BY ALL
    )
    SELECT m.group_id, m.incarnation, m.generation, m.process, m.member_id, m.client_id,
        m.client_host, m.instance_id, m.is_leader, m.change, m.left_how,
        EPOCH_MS(m.left_time) AS left_ms, m.gone,
        CASE WHEN m.change <> 'retained' THEN joins.joined_ms END AS joined_ms, g.assigned
    FROM generation_members m JOIN scope ON m.cluster_id = scope.cluster_id
    JOIN spans s ON s.group_id = m.group_id AND s.incarnation = m.incarnation
        AND s.generation = m.generation
    ASOF LEFT JOIN joins ON joins.group_id = m.group_id AND joins.incarnation = m.incarnation
        AND joins.member_id = m.member_id AND joins.generation <= m.generation
    LEFT JOIN assigned g ON g.group_id = m.group_id AND g.incarnation = m.incarnation
        AND g.generation = m.generation AND g.process = m.process
    WHERE m.group_id IN $ids
    ORDER BY m.group_id, m.incarnation, m.generation, m.process, joined_ms NULLS FIRST,
        m.member_id"""


def _steps_of(table: str) -> str:
    """Number of partitions from a time on."""
    return f"""
    SELECT group_id, at_ms,
        SUM(SUM(change)) OVER (PARTITION BY group_id ORDER BY at_ms)::BIGINT AS partitions
    FROM (
        SELECT group_id, from_ms AS at_ms, partitions AS change FROM {table} WHERE group_id IN $ids
        UNION ALL SELECT group_id, to_ms, -partitions FROM {table} WHERE group_id IN $ids)
    GROUP BY group_id, at_ms HAVING SUM(change) <> 0 ORDER BY group_id, at_ms"""


UNOWNED, UNSERVED_STEPS = _steps_of("gaps"), _steps_of("unserved")

# Periods of groups that changed their type; each period belongs to one type.
PERIODS = """
    SELECT p.group_id, p.period, p.group_type, EPOCH_MS(p.from_time) AS from_ms,
        EPOCH_MS(p.to_time) AS until_ms, p.rebalances, p.aborted_rebalances,
        p.superseded_targets, p.not_stable_ms, p.with_members_ms, p.partitions_moved,
        p.unowned_partition_ms,
        p.restarts, p.partition_ms_per_restart AS per_restart_ms
    FROM q10_by_protocol p JOIN scope USING (cluster_id) WHERE p.group_id IN $ids
    QUALIFY COUNT(*) OVER (PARTITION BY p.group_id) > 1
    ORDER BY p.group_id, p.period"""

# Events of a group that no member caused.
COORDINATOR = """
    SELECT t.group_id, EPOCH_MS(t.event_time) AS at_ms, t.event
    FROM timeline t JOIN scope ON t.cluster_id = scope.cluster_id
    WHERE t.group_id IN $ids AND t.event_time IS NOT NULL
        AND t.event IN ('LOADED', 'UNLOADED', 'STORE_FAILED', 'GROUP_DEAD', 'ADMIN_DELETE')
    ORDER BY t.group_id, t.seq"""

# -- optional tables -------------------------------------------------------------------------------

WHAT_IF = """
    SELECT w.group_id, w.basis, w.setting, w.rebalances, w.not_stable_ms, w.moved_partitions,
        w.unowned_partition_ms AS unavailable_partition_ms, w.rebalances_min, w.rebalances_max,
        w.not_stable_ms_min, w.not_stable_ms_max, w.moved_partitions_min, w.moved_partitions_max,
        w.unowned_partition_ms_min AS unavailable_partition_ms_min,
        w.unowned_partition_ms_max AS unavailable_partition_ms_max, w.records_reprocessed,
        w.records_reprocessed_min, w.records_reprocessed_max, w.consumption_pause_ms,
        w.consumption_pause_ms_min, w.consumption_pause_ms_max, w.catch_up_ms,
        w.catch_up_ms_min, w.catch_up_ms_max, w.settings, w.pareto, w.seeds
    FROM what_if w JOIN scope USING (cluster_id) WHERE w.group_id IN $ids
    ORDER BY w.group_id, CASE w.basis WHEN 'observed' THEN 1 WHEN 'model' THEN 2 ELSE 3 END,
        w.unowned_partition_ms, w.setting"""

# Partitions that each member of a modern group had, or had to give up, from each time on.
EPOCHS = """
    SELECT e.group_id, e.incarnation, e.generation, e.process, e.member_id,
        EPOCH_MS(e.time) AS at_ms, e.epoch, e.state, e.assigned, e.pending_revocation AS pending
    FROM member_epochs e JOIN scope USING (cluster_id) WHERE e.group_id IN $ids
    ORDER BY e.group_id, e.process, e.time, e.topic_partition, e.log_offset"""

# Partitions that changed their process.  Partitions of the same two processes at the same times are
# combined. In classic groups all these times equal the rebalance's times, so the page does not list
# them.
HANDOVERS = f"""
    WITH moved AS (
        SELECT h.group_id, h.incarnation, h.generation, h.from_process, h.to_process,
            EPOCH_MS(h.requested_time) AS asked_ms, EPOCH_MS(h.released_time) AS released_ms,
            EPOCH_MS(h.assigned_time) AS assigned_ms, h.waited_for, h.subtopology, h.topic,
            LIST(h.partition ORDER BY h.partition) AS partitions
        FROM handovers h JOIN scope ON h.cluster_id = scope.cluster_id
        JOIN spans s ON s.group_id = h.group_id AND s.incarnation = h.incarnation
            AND s.generation = h.generation AND {HAS_EPOCHS}
        WHERE h.group_id IN $ids GROUP BY ALL
    )
    SELECT * EXCLUDE (subtopology, topic, partitions),
        LIST({{'role': NULL::VARCHAR, 'subtopology': subtopology, 'topic': topic,
            'partitions': partitions}} ORDER BY subtopology, topic) AS moved
    FROM moved GROUP BY ALL
    ORDER BY group_id, incarnation, generation, assigned_ms, from_process, to_process,
        released_ms"""

# The member ids connect a process life with a lane, even in lakes of earlier versions.
LIVES = """
    SELECT l.group_id, (SELECT MIN(p.process) FROM processes p
            WHERE p.group_id = l.group_id AND LIST_CONTAINS(l.member_ids, p.member_id)) AS process,
        l.life, EPOCH_MS(l.from_time) AS from_ms, EPOCH_MS(l.to_time) AS to_ms,
        l.started_how, l.ended_how, l.evidence,
        [[EPOCH_MS(p.from_time), EPOCH_MS(p.to_time)] FOR p IN l.slow_polls] AS slow_polls
    FROM process_lives l JOIN scope USING (cluster_id) WHERE l.group_id IN $ids
    ORDER BY l.group_id, process, l.life"""
