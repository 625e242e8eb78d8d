-- q10_by_protocol: one row per group and period under one group type, to compare rebalances, partition downtime, and downtime per restart before and after a migration.
WITH typed AS (
    SELECT
        s.cluster_id, s.group_id, s.incarnation, s.generation, s.from_time, s.to_time, s.rebalances, s.aborted_rebalances, s.superseded_targets,
        s.total_ms, s.with_members_ms,
        COALESCE(g.group_type, 'classic') AS group_type,
        CASE WHEN g.evidence = 'clients' THEN NULL ELSE 0 END AS zero,
        CASE WHEN g.evidence IN ('records', 'both') THEN 0 END AS recorded_zero,
        LAG(COALESCE(g.group_type, 'classic')) OVER (
            PARTITION BY s.cluster_id, s.group_id ORDER BY s.incarnation, s.generation
        ) AS previous_type
    FROM generation_spans s
    JOIN generations g
        ON g.cluster_id = s.cluster_id AND g.group_id = s.group_id
        AND g.incarnation = s.incarnation AND g.generation = s.generation
),
periods AS (
    SELECT
        t.*,
        SUM(CASE WHEN t.group_type = t.previous_type THEN 0 ELSE 1 END) OVER (
            PARTITION BY t.cluster_id, t.group_id ORDER BY t.incarnation, t.generation
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS period
    FROM typed t
),
actions AS (
    SELECT
        cluster_id, group_id, incarnation, generation, role, cause, story,
        LAG(story) OVER (
            PARTITION BY cluster_id, group_id, COALESCE(instance_id, client_id, member_id)
            ORDER BY incarnation, generation, cause_seq
        ) AS previous_story
    FROM rebalance_causes
    WHERE member_id IS NOT NULL
),
-- Departures and returns; a static member of a consumer group that closes and returns has a cause
-- for each.
restarts AS (
    SELECT
        cluster_id, group_id, incarnation, generation,
        SUM(CASE WHEN story = 'restart' AND cause <> 'STATIC_RETURN' THEN 1 ELSE 0 END) AS restarts,
        MAX(CASE WHEN role <> 'absorbed' THEN 1 ELSE 0 END) AS has_rebalance,
        MAX(CASE WHEN role = 'absorbed' THEN 1 ELSE 0 END) AS has_absorbed
    FROM actions
    WHERE story = 'restart' OR story = 'return' AND previous_story = 'restart'
    GROUP BY cluster_id, group_id, incarnation, generation
),
-- A gap within one generation belongs to a static member's restart without a rebalance.
downtime AS (
    SELECT
        cluster_id, group_id, incarnation, generation,
        SUM(unowned_ms) AS unowned_ms,
        SUM(COALESCE(unowned_ms_low, unowned_ms)) AS low_ms,
        SUM(COALESCE(unowned_ms_high, unowned_ms)) AS high_ms,
        SUM(CASE WHEN generation > from_generation THEN unowned_ms ELSE 0 END) AS rebalance_ms,
        SUM(CASE WHEN generation = from_generation THEN unowned_ms ELSE 0 END) AS absorbed_ms
    FROM ownership_gaps
    GROUP BY cluster_id, group_id, incarnation, generation
),
costs AS (
    SELECT
        p.*, c.partitions_moved, COALESCE(r.restarts, p.zero) AS restarts,
        COALESCE(d.unowned_ms, p.recorded_zero) AS unowned_ms,
        COALESCE(d.low_ms, p.recorded_zero) AS low_ms,
        COALESCE(d.high_ms, p.recorded_zero) AS high_ms,
        COALESCE(CASE WHEN r.has_rebalance = 1 THEN d.rebalance_ms END, p.recorded_zero)
        + COALESCE(CASE WHEN r.has_absorbed = 1 THEN d.absorbed_ms END, p.recorded_zero) AS restart_ms
    FROM periods p
    LEFT JOIN churn c
        ON c.cluster_id = p.cluster_id AND c.group_id = p.group_id
        AND c.incarnation = p.incarnation AND c.generation = p.generation
    LEFT JOIN restarts r
        ON r.cluster_id = p.cluster_id AND r.group_id = p.group_id
        AND r.incarnation = p.incarnation AND r.generation = p.generation
    LEFT JOIN downtime d
        ON d.cluster_id = p.cluster_id AND d.group_id = p.group_id
        AND d.incarnation = p.incarnation AND d.generation = p.generation
)
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- group
    period,                         -- number of the period under one group type, from 1; a migration begins the next period
    group_type,                     -- classic, consumer, share or streams
    MIN(from_time) AS from_time,    -- start of the first rebalance
    MAX(to_time) AS to_time,        -- end of the last generation
    COUNT(*) AS generations,        -- generations with evidence
    SUM(rebalances) AS rebalances, -- rebalances as docs/metrics.md defines them; null if only clients' logs show them, without an outcome
    SUM(aborted_rebalances) AS aborted_rebalances, -- aborted rebalances as docs/metrics.md defines them, not among rebalances; null where rebalances is null
    SUM(superseded_targets) AS superseded_targets, -- superseded targets among the rebalances, as docs/metrics.md defines them; null if only logs show them
    SUM(total_ms) AS not_stable_ms, -- ms in rebalances; null without a log
    SUM(with_members_ms) AS with_members_ms, -- ms in which the group had members, or members were joining
    SUM(partitions_moved) AS partitions_moved, -- partitions whose owner changed to another process
    SUM(unowned_ms) AS unowned_partition_ms, -- partition downtime in ms, as in ownership_gaps; null without records
    SUM(low_ms) AS unowned_partition_ms_low, -- lower limit of unowned_partition_ms, see ownership_gaps
    SUM(high_ms) AS unowned_partition_ms_high, -- upper limit of unowned_partition_ms, see ownership_gaps
    SUM(restarts) AS restarts,      -- processes that left and returned within a minute; null if only clients' logs show the generations
    SUM(restart_ms) AS restart_partition_ms, -- part of the downtime that restarts caused: in rebalances of a departure or a return, and for static members without a rebalance
    CAST(ROUND(SUM(restart_ms) / NULLIF(SUM(restarts), 0)) AS BIGINT) AS partition_ms_per_restart -- restart_partition_ms per restart; null without restarts or records
FROM costs
GROUP BY cluster_id, group_id, period, group_type
ORDER BY cluster_id, group_id, from_time
