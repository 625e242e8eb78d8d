-- q02_rebalance_durations: how long rebalances take per group, by phase.
SELECT
    cluster_id,
    group_id,
    COUNT(*) AS rebalances,
    PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY join_ms) AS join_p50_ms,
    PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY join_ms) AS join_p95_ms,
    MAX(join_ms) AS join_max_ms,
    PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY sync_ms) AS sync_p50_ms,
    PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY sync_ms) AS sync_p95_ms,
    MAX(sync_ms) AS sync_max_ms,
    PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY total_ms) AS total_p50_ms,
    PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY total_ms) AS total_p95_ms,
    MAX(total_ms) AS total_max_ms
FROM rebalance_latency
GROUP BY cluster_id, group_id
