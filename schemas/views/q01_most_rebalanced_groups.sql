-- q01_most_rebalanced_groups: which groups rebalanced most, how often, and for how much of the time they were not stable.
SELECT
    s.cluster_id,                   -- cluster
    s.group_id,                     -- consumer group
    COUNT(*) AS generations,        -- generations that left a trace
    SUM(CASE WHEN s.outcome = 'stable' THEN 1 ELSE 0 END) AS rebalances, -- of these: became Stable
    SUM(CASE WHEN s.outcome IN ('superseded', 'failed') THEN 1 ELSE 0 END) AS aborted_rebalances, -- of these: superseded or failed
    SUM(s.total_ms) AS not_stable_ms, -- ms in rebalances; null without a log
    MAX(s.total_ms) AS longest_ms,  -- longest of them
    SUM(s.with_members_ms) AS with_members_ms, -- ms the group had members or was getting them: its life without the time in Empty
    ROUND(100 * SUM(s.total_ms) / NULLIF(SUM(s.with_members_ms), 0), 2) AS not_stable_percent, -- share of that time it was not Stable
    SUM(CASE WHEN s.outcome = 'stable' AND s.start_time > o.last_time - INTERVAL '1' DAY THEN 1 ELSE 0 END) AS rebalances_last_day, -- in the 24 hours before the last the lake knows of the cluster
    SUM(CASE WHEN s.outcome = 'stable' AND s.start_time > o.last_time - INTERVAL '7' DAY THEN 1 ELSE 0 END) AS rebalances_last_week, -- in the 7 days before that
    SUM(CASE WHEN s.start_time > o.last_time - INTERVAL '1' DAY THEN s.total_ms END) AS not_stable_last_day_ms, -- ms in rebalances begun in those 24 hours
    SUM(CASE WHEN s.start_time > o.last_time - INTERVAL '7' DAY THEN s.total_ms END) AS not_stable_last_week_ms, -- ms in rebalances begun in those 7 days
    MIN(s.start_time) AS first_seen, -- start of the first
    MAX(s.running_time) AS last_seen -- end of the last
FROM (
    SELECT
        *,
        CASE
            WHEN outcome = 'empty' THEN COALESCE(total_ms, 0)
            ELSE UNIX_MILLIS(until_time) - UNIX_MILLIS(start_time)
        END AS with_members_ms
    FROM generation_spans
) AS s
LEFT JOIN observed_spans o ON o.cluster_id = s.cluster_id
GROUP BY s.cluster_id, s.group_id
