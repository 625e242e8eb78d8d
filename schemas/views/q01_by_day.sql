-- q01_by_day: how often groups rebalanced on each date: sum over any dates.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    event_date,                     -- UTC date
    COUNT(*) AS generations,        -- generations that left a trace
    SUM(CASE WHEN outcome = 'stable' THEN 1 ELSE 0 END) AS rebalances, -- of these: became Stable
    SUM(CASE WHEN outcome IN ('superseded', 'failed') THEN 1 ELSE 0 END) AS aborted_rebalances, -- of these: superseded or failed
    SUM(total_ms) AS not_stable_ms, -- ms in rebalances; null without a log
    MAX(total_ms) AS longest_ms     -- longest of them
FROM generation_spans
GROUP BY cluster_id, group_id, event_date
