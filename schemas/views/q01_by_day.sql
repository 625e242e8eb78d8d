-- q01_by_day: rebalances per group and date, which can be summed over any dates.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    event_date,                     -- UTC date
    COUNT(*) AS generations,        -- generations with evidence
    SUM(rebalances) AS rebalances, -- rebalances as docs/metrics.md defines them; null if only clients' logs show them, without an outcome
    SUM(aborted_rebalances) AS aborted_rebalances, -- aborted rebalances as docs/metrics.md defines them, not among rebalances; null where rebalances is null
    SUM(superseded_targets) AS superseded_targets, -- superseded targets among the rebalances, as docs/metrics.md defines them; null if only logs show them
    SUM(total_ms) AS not_stable_ms, -- ms in rebalances; null without a log
    MAX(total_ms) AS longest_ms     -- longest rebalance in ms
FROM generation_spans
GROUP BY cluster_id, group_id, event_date
ORDER BY cluster_id, event_date, not_stable_ms DESC, group_id
