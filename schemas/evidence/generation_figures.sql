-- generation_figures: one row per generation: the figures whose sums are a group's observed figures.
SELECT
    g.cluster_id, g.group_id, g.incarnation, g.generation,
    COALESCE(g.group_type, 'classic') AS group_type, g.protocol,
    UNIX_MILLIS(COALESCE(g.preparing_time, g.joined_time)) AS begin_ms,
    UNIX_MILLIS(g.joined_time) AS joined_ms, UNIX_MILLIS(g.stable_time) AS stable_ms,
    c.partitions_moved, UNIX_MILLIS(l.preparing_time) AS preparing_ms,
    COALESCE(l.join_ms, 0) + COALESCE(l.sync_ms, 0) AS not_stable_ms
FROM generations g
LEFT JOIN churn c
    ON c.cluster_id = g.cluster_id AND c.group_id = g.group_id
    AND c.incarnation = g.incarnation AND c.generation = g.generation
LEFT JOIN rebalance_latency l
    ON l.cluster_id = g.cluster_id AND l.group_id = g.group_id
    AND l.incarnation = g.incarnation AND l.generation = g.generation
WHERE g.evidence <> 'clients'
