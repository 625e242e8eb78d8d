-- q03_causes: why groups rebalanced: triggers by cause class and by what the processes did.
SELECT
    cluster_id,
    group_id,
    cause,
    story,
    COUNT(*) AS rebalances
FROM rebalance_causes
WHERE role = 'trigger'
GROUP BY cluster_id, group_id, cause, story
