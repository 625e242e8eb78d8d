-- q06_movement: partitions moved per rebalance against the minimum that had to move.
SELECT
    g.cluster_id,
    g.group_id,
    g.protocol,
    COUNT(*) AS rebalances,
    SUM(c.partitions_moved) AS partitions_moved,
    SUM(c.moves_forced) AS moves_forced,
    SUM(c.partitions_moved) - SUM(c.moves_forced) AS moves_in_excess,
    MAX(c.partitions_moved) AS most_moved_at_once
FROM generations g
JOIN churn c
    ON c.cluster_id = g.cluster_id AND c.group_id = g.group_id
    AND c.incarnation = g.incarnation AND c.generation = g.generation
WHERE g.outcome = 'stable'
GROUP BY g.cluster_id, g.group_id, g.protocol
