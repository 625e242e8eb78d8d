-- q02_rebalance_durations: duration of the rebalances per group, by phase.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    COUNT(*) AS generations,        -- generations: rebalances, aborted rebalances, and generations that left the group empty
    PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY join_ms) AS join_p50_ms, -- ms waiting for all members to join, median; modern groups: ms in Assigning
    PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY join_ms) AS join_p95_ms, -- 95th percentile
    MAX(join_ms) AS join_max_ms,    -- longest
    PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY sync_ms) AS sync_p50_ms, -- ms waiting for the leader's assignment, median; modern groups: ms in Reconciling
    PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY sync_ms) AS sync_p95_ms, -- 95th percentile
    MAX(sync_ms) AS sync_max_ms,    -- longest
    PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY total_ms) AS total_p50_ms, -- ms not Stable, median
    PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY total_ms) AS total_p95_ms, -- 95th percentile
    MAX(total_ms) AS total_max_ms   -- longest
FROM rebalance_latency
GROUP BY cluster_id, group_id
ORDER BY cluster_id, total_p95_ms DESC NULLS LAST, group_id
