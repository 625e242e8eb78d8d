-- logical_rebalances: one row per logical rebalance: superseded rebalances and cooperative rounds counted as one.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    incarnation,                    -- incarnation of the group
    logical_rebalance,              -- first generation of the logical rebalance
    MIN(preparing_time) AS from_time, -- start of the first round; null without a log
    MAX(to_time) AS to_time,        -- end of the last round
    MIN(generation) AS first_generation, -- first generation
    MAX(generation) AS last_generation, -- last generation
    COUNT(*) AS rounds,             -- number of rebalances
    MIN(CASE WHEN round = 1 THEN cause END) AS cause, -- cause class of the first rebalance
    SUM(total_ms) AS not_stable_ms  -- ms not Stable in all rounds; null without a log
FROM rebalance_latency
GROUP BY cluster_id, group_id, incarnation, logical_rebalance
