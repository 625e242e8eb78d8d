-- q06_assignors: partitions moved per group and assignor, and the minimum: for the stored assignments (assignor actual), and for assignors run again, by step or as a chain.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    assignor,                       -- actual for the stored assignments, which in consumer groups are the targets; otherwise the assignor that was run again
    mode,                           -- step starts from the stored assignment of the previous generation; chain starts from the assignor's own result for that generation
    MAX(own) AS own,                -- true if the group chose this assignor at least once
    COUNT(*) - SUM(CASE WHEN difference = 'not_rerun' THEN 1 ELSE 0 END) AS generations, -- generations that were run again
    SUM(CASE WHEN difference = 'not_rerun' THEN 1 ELSE 0 END) AS not_rerun, -- generations on which no assignor was run again, because the group and date had too many large ones; their moves are not counted
    SUM(rounds) AS rebalances,      -- rebalances needed, including second rounds after a revocation
    SUM(partitions_moved) AS partitions_moved, -- partitions whose owner is another process than the previous owner
    SUM(moves_forced) AS moves_forced, -- moves that no assignment could avoid
    SUM(partitions_moved) - SUM(moves_forced) AS moves_in_excess, -- moves that a better assignment would avoid
    MAX(partitions_moved) AS max_partitions_moved, -- most partitions moved in one generation
    ROUND(100 * AVG(stickiness), 1) AS stickiness_percent, -- share of the partitions with a retained owner that this owner kept, mean over generations, percent
    AVG(imbalance) AS average_imbalance, -- sum of the differences in partitions over all pairs of members, mean; 0 is best
    SUM(CASE WHEN equals_actual THEN 1 ELSE 0 END) AS equal_to_actual -- generations in which the stored assignment gives every member the same partitions
FROM assignor_quality
GROUP BY cluster_id, group_id, assignor, mode
ORDER BY cluster_id, group_id, assignor, mode
