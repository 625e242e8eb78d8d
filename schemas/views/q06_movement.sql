-- q06_movement: partitions moved in rebalances, and the minimum that had to move.
SELECT
    g.cluster_id,                   -- cluster
    g.group_id,                     -- consumer group
    g.protocol,                     -- assignor chosen by the members' votes; modern groups: server assignor
    COUNT(*) AS rebalances,         -- rebalances that became Stable
    SUM(c.partitions_moved) AS partitions_moved, -- partitions whose owner changed to another process
    SUM(c.moves_forced) AS moves_forced, -- moves that no assignment could avoid
    SUM(c.partitions_moved) - SUM(c.moves_forced) AS moves_in_excess, -- moves that a better assignment would avoid
    MAX(c.partitions_moved) AS max_partitions_moved, -- most partitions moved in one rebalance
    ROUND(100 * AVG(q.stickiness), 1) AS stickiness_percent -- share of the partitions with a retained owner that this owner kept, mean over rebalances, in percent; computed from the target in consumer groups, null for share and streams groups
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
ORDER BY cluster_id, moves_in_excess DESC NULLS LAST, partitions_moved DESC, group_id, protocol
