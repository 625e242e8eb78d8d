-- q01_most_rebalanced_groups: the groups that rebalanced most: how often, why, and the share of time in which they were not Stable.
SELECT
    s.cluster_id,                   -- cluster
    s.group_id,                     -- consumer group
    COUNT(*) AS generations,        -- generations with evidence
    SUM(s.rebalances) AS rebalances, -- rebalances as docs/metrics.md defines them; null if only clients' logs show them, without an outcome
    SUM(s.aborted_rebalances) AS aborted_rebalances, -- aborted rebalances as docs/metrics.md defines them, not among rebalances; null where rebalances is null
    SUM(s.superseded_targets) AS superseded_targets, -- superseded targets among the rebalances, as docs/metrics.md defines them; null if only logs show them
    SUM(s.total_ms) AS not_stable_ms, -- ms in rebalances; null without a log
    MAX(s.total_ms) AS longest_ms,  -- longest rebalance in ms
    SUM(s.with_members_ms) AS with_members_ms, -- ms in which the group had members or members were joining, excluding the time in Empty
    ROUND(100 * SUM(s.total_ms) / NULLIF(SUM(s.with_members_ms), 0), 2) AS not_stable_percent, -- share of with_members_ms in which the group was not Stable, percent
    SUM(CASE WHEN s.from_time > o.last_time - INTERVAL '1' DAY THEN s.rebalances ELSE 0 * s.rebalances END) AS rebalances_last_day, -- rebalances in the last 24 hours for which the lake has data of the cluster
    SUM(CASE WHEN s.from_time > o.last_time - INTERVAL '7' DAY THEN s.rebalances ELSE 0 * s.rebalances END) AS rebalances_last_week, -- rebalances in the last 7 days for which the lake has data of the cluster
    SUM(CASE WHEN s.from_time > o.last_time - INTERVAL '1' DAY THEN s.total_ms END) AS not_stable_last_day_ms, -- ms in rebalances that began in the last 24 hours for which the lake has data of the cluster
    SUM(CASE WHEN s.from_time > o.last_time - INTERVAL '7' DAY THEN s.total_ms END) AS not_stable_last_week_ms, -- ms in rebalances that began in the last 7 days for which the lake has data of the cluster
    MIN(s.from_time) AS first_seen, -- start of the first generation
    MAX(s.running_time) AS last_seen, -- end of the last rebalance
    MAX(e.episodes) AS episodes,    -- number of root causes of these rebalances, including starts and shutdowns of the group
    MAX(e.costliest) AS costliest_episode -- the episode with the most time without an owner or not served, in one sentence; starts, shutdowns and deletions of the group are excluded
FROM generation_spans s
LEFT JOIN observed_spans o ON o.cluster_id = s.cluster_id
LEFT JOIN (
    SELECT
        cluster_id, group_id, COUNT(*) AS episodes,
        MIN_BY(CASE WHEN kind NOT IN ('group_start', 'shutdown', 'group_deleted') THEN text END, place) AS costliest
    FROM episode_costs
    GROUP BY cluster_id, group_id
) AS e ON e.cluster_id = s.cluster_id AND e.group_id = s.group_id
GROUP BY s.cluster_id, s.group_id
ORDER BY cluster_id, rebalances DESC, not_stable_ms DESC, group_id
