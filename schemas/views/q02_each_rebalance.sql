-- q02_each_rebalance: one row per rebalance: its times (start, all joined, assigned, end) and the duration of its phases. For consumer, share and streams groups, the times are: start, target computed, target reached, end.
SELECT
    g.cluster_id,                   -- cluster
    g.group_id,                     -- consumer group
    g.incarnation,                  -- incarnation of the group
    g.generation,                   -- generation that the rebalance made
    g.outcome,                      -- stable, empty, superseded, failed or unknown
    g.preparing_time,               -- start: time of PreparingRebalance (log); modern groups: time at which the group epoch increased
    g.joined_time,                  -- time at which all members had joined; modern groups: time at which the target was computed
    g.stable_time,                  -- time at which the leader's assignment was stored; modern groups: time at which every member had reached the target
    l.to_time,                      -- end of the rebalance: assigned, empty, or superseded by the next rebalance
    g.ended_time,                   -- end of the generation: time at which the next rebalance began or the group was deleted
    l.join_ms,                      -- ms in PreparingRebalance; null without a log; modern groups: ms in Assigning
    l.sync_ms,                      -- ms in CompletingRebalance; modern groups: ms in Reconciling
    l.total_ms,                     -- join_ms + sync_ms; null without a log
    l.logical_rebalance,            -- first generation of the rebalance's logical rebalance
    l.evidence                      -- records (sync phase only), log or both
FROM generations g
JOIN rebalance_latency l
    ON l.cluster_id = g.cluster_id AND l.group_id = g.group_id
    AND l.incarnation = g.incarnation AND l.generation = g.generation
ORDER BY cluster_id, group_id, incarnation, generation
