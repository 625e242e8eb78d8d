-- q06_assignors: what each assignor moves per group, against the minimum: really (assignor actual), and re-run, step by step or as a chain of its own.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    assignor,                       -- actual: what the leaders gave; else the assignor that was re-run
    mode,                           -- step: after what the generation before really had; chain: after what this assignor gave there
    MAX(own) AS own,                -- the group's vote chose it at least once
    COUNT(*) AS generations,        -- generations re-run
    SUM(rounds) AS rebalances,      -- rebalances that takes, second rounds of revoking included
    SUM(partitions_moved) AS partitions_moved, -- partitions with another owner than before
    SUM(moves_forced) AS moves_forced, -- of these: no assignment could avoid them
    SUM(partitions_moved) - SUM(moves_forced) AS moves_in_excess, -- the others
    MAX(partitions_moved) AS max_partitions_moved, -- in one generation
    ROUND(100 * AVG(stickiness), 1) AS stickiness_percent, -- share kept of the partitions whose owner was still there, mean over generations
    AVG(imbalance) AS average_imbalance, -- differences between all pairs of members, summed; 0 is best
    SUM(CASE WHEN equals_actual THEN 1 ELSE 0 END) AS equal_to_actual -- generations in which everybody really got the same
FROM assignor_quality
GROUP BY cluster_id, group_id, assignor, mode
