-- q02_rebalance_durations: how long rebalances take per group, by phase.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    COUNT(*) AS generations,        -- rebalances, superseded and empty ones included
    PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY join_ms) AS join_p50_ms, -- ms waiting for everybody to join, median
    PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY join_ms) AS join_p95_ms, -- 95 of 100 took no longer
    MAX(join_ms) AS join_max_ms,    -- longest
    PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY sync_ms) AS sync_p50_ms, -- ms waiting for the leader's assignment, median
    PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY sync_ms) AS sync_p95_ms, -- 95 of 100 took no longer
    MAX(sync_ms) AS sync_max_ms,    -- longest
    PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY total_ms) AS total_p50_ms, -- ms not Stable, median
    PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY total_ms) AS total_p95_ms, -- 95 of 100 took no longer
    MAX(total_ms) AS total_max_ms   -- longest
FROM rebalance_latency
GROUP BY cluster_id, group_id
