-- q06_assignors: what each assignor moves per group, against the minimum: really (assignor actual), and re-run, step by step or as a chain of its own.
SELECT
    cluster_id,
    group_id,
    assignor,
    mode,
    MAX(own) AS own,
    COUNT(*) AS generations,
    SUM(rounds) AS rebalances,
    SUM(partitions_moved) AS partitions_moved,
    SUM(moves_forced) AS moves_forced,
    SUM(partitions_moved) - SUM(moves_forced) AS moves_in_excess,
    MAX(partitions_moved) AS most_moved_at_once,
    ROUND(100 * AVG(stickiness), 1) AS stickiness_percent,
    AVG(imbalance) AS average_imbalance,
    SUM(CASE WHEN equals_actual THEN 1 ELSE 0 END) AS equal_to_actual
FROM assignor_quality
GROUP BY cluster_id, group_id, assignor, mode
