-- q01_most_rebalanced_groups: which groups rebalanced most, how often, and for how much of the time they were not stable.
SELECT
    cluster_id,
    group_id,
    COUNT(*) AS generations,
    SUM(CASE WHEN outcome = 'stable' THEN 1 ELSE 0 END) AS rebalances,
    SUM(CASE WHEN outcome IN ('superseded', 'failed') THEN 1 ELSE 0 END) AS wasted_attempts,
    SUM(total_ms) AS not_stable_ms,
    MAX(total_ms) AS longest_ms,
    MIN(preparing_time) AS first_seen,
    MAX(end_time) AS last_seen
FROM rebalance_latency
GROUP BY cluster_id, group_id
