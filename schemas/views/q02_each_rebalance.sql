-- q02_each_rebalance: for each rebalance its start, join barrier, assignment and end, and how long each phase took.
SELECT
    g.cluster_id,                   -- cluster
    g.group_id,                     -- consumer group
    g.incarnation,                  -- life of the group
    g.generation,                   -- generation the rebalance made
    g.outcome,                      -- stable, empty, superseded, failed or unknown
    g.preparing_time,               -- start: PreparingRebalance (log)
    g.joined_time,                  -- joined: the join barrier fell
    g.stable_time,                  -- assigned: the leader's assignment was stored
    l.end_time,                     -- the rebalance was over: assigned, empty, or the next one took over
    g.ended_time,                   -- the generation was over: the next rebalance began or the group died
    l.join_ms,                      -- ms in PreparingRebalance; null without a log
    l.sync_ms,                      -- ms in CompletingRebalance
    l.total_ms,                     -- both; null without a log
    l.logical_rebalance,            -- generation that began the logical rebalance it belongs to
    l.evidence                      -- records (sync phase only), log or both
FROM generations g
JOIN rebalance_latency l
    ON l.cluster_id = g.cluster_id AND l.group_id = g.group_id
    AND l.incarnation = g.incarnation AND l.generation = g.generation
