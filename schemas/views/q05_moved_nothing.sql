-- q05_moved_nothing: rebalances that changed no partition's owner.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    incarnation,                    -- incarnation of the group
    generation,                     -- generation that the rebalance made
    preparing_time,                 -- start of the rebalance; null without a log
    cause,                          -- cause class
    story,                          -- action of the process
    culprit,                        -- process that triggered the rebalance
    total_ms                        -- ms not Stable
FROM rebalances
WHERE outcome = 'stable'
    AND partitions_moved = 0
    AND partitions_orphaned = 0
    AND partitions_new = 0
ORDER BY cluster_id, group_id, incarnation, generation
