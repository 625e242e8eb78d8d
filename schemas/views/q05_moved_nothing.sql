-- q05_moved_nothing: rebalances that changed no owner: wasted work.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    incarnation,                    -- life of the group
    generation,                     -- generation the rebalance made
    preparing_time,                 -- when it began; null without a log
    cause,                          -- why: cause class
    story,                          -- what the process did
    culprit,                        -- who began it
    total_ms                        -- ms not Stable for nothing
FROM rebalances
WHERE outcome = 'stable'
    AND partitions_moved = 0
    AND partitions_orphaned = 0
    AND partitions_new = 0
