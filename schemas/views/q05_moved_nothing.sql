-- q05_moved_nothing: rebalances that changed no owner: wasted work.
SELECT
    cluster_id,
    group_id,
    incarnation,
    generation,
    preparing_time,
    cause,
    culprit,
    total_ms
FROM rebalances
WHERE outcome = 'stable'
    AND partitions_moved = 0
    AND partitions_orphaned = 0
    AND partitions_new = 0
