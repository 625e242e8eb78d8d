-- logical_rebalances: what a user feels as one rebalance: superseded starts and cooperative rounds counted together.
SELECT
    cluster_id,
    group_id,
    incarnation,
    logical_rebalance,
    MIN(preparing_time) AS start_time,
    MAX(end_time) AS end_time,
    MIN(generation) AS first_generation,
    MAX(generation) AS last_generation,
    COUNT(*) AS rounds,
    MIN(CASE WHEN round = 1 THEN cause END) AS cause,
    SUM(total_ms) AS not_stable_ms
FROM rebalance_latency
GROUP BY cluster_id, group_id, incarnation, logical_rebalance
