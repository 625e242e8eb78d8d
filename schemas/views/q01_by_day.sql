-- q01_by_day: rebalances per group and date, which can be summed over any dates.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    event_date,                     -- UTC date
    COUNT(*) AS generations,        -- generations with evidence
    SUM(CASE WHEN has_outcome THEN CASE WHEN outcome = 'stable' THEN 1 ELSE 0 END END) AS rebalances, -- rebalances that became Stable; null if only logs show a group with epochs
    SUM(CASE WHEN has_outcome THEN CASE WHEN outcome IN ('superseded', 'failed') THEN 1 ELSE 0 END END) AS aborted_rebalances, -- rebalances that were superseded or failed; null as rebalances
    SUM(total_ms) AS not_stable_ms, -- ms in rebalances; null without a log
    MAX(total_ms) AS longest_ms     -- longest rebalance in ms
FROM generation_spans
GROUP BY cluster_id, group_id, event_date
ORDER BY cluster_id, event_date, not_stable_ms DESC, group_id
