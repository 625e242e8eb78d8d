-- q06_movement: partitions moved per rebalance against the minimum that had to move.
SELECT
    g.cluster_id,                   -- cluster
    g.group_id,                     -- consumer group
    g.protocol,                     -- assignor chosen by the vote
    COUNT(*) AS rebalances,         -- rebalances that became Stable
    SUM(c.partitions_moved) AS partitions_moved, -- partitions that went to another process
    SUM(c.moves_forced) AS moves_forced, -- of these: no assignment could avoid them
    SUM(c.partitions_moved) - SUM(c.moves_forced) AS moves_in_excess, -- the others
    MAX(c.partitions_moved) AS max_partitions_moved, -- in one rebalance
    ROUND(100 * AVG(q.stickiness), 1) AS stickiness_percent -- share kept of the partitions whose owner was still there, mean over rebalances
FROM generations g
JOIN churn c
    ON c.cluster_id = g.cluster_id AND c.group_id = g.group_id
    AND c.incarnation = g.incarnation AND c.generation = g.generation
LEFT JOIN assignor_quality q
    ON q.cluster_id = g.cluster_id AND q.group_id = g.group_id
    AND q.incarnation = g.incarnation AND q.generation = g.generation
    AND q.assignor = 'actual' AND q.mode = 'step'
WHERE g.outcome = 'stable'
GROUP BY g.cluster_id, g.group_id, g.protocol
