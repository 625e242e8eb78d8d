-- logical_rebalances: what a user feels as one rebalance: superseded starts and cooperative rounds counted together.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    incarnation,                    -- life of the group
    logical_rebalance,              -- generation that began it
    MIN(preparing_time) AS start_time, -- start of its first round; null without a log
    MAX(end_time) AS end_time,      -- end of its last round
    MIN(generation) AS first_generation, -- first generation it made
    MAX(generation) AS last_generation, -- last generation it made
    COUNT(*) AS rounds,             -- rebalances counted together
    MIN(CASE WHEN round = 1 THEN cause END) AS cause, -- cause class of the first
    SUM(total_ms) AS not_stable_ms  -- ms not Stable in all of them; null without a log
FROM rebalance_latency
GROUP BY cluster_id, group_id, incarnation, logical_rebalance
