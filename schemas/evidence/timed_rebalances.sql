-- timed_rebalances: one row per rebalance with a known end: its time, and the members of its generation.
SELECT
    l.cluster_id, l.group_id, CAST(l.event_date AS STRING) AS day,
    UNIX_MILLIS(COALESCE(l.preparing_time, l.to_time)) AS begin_ms,
    UNIX_MILLIS(l.to_time) AS end_ms,
    COALESCE(l.total_ms, l.sync_ms, 0) AS spent_ms,
    COALESCE(m.members, 1) AS members
FROM rebalance_latency l
LEFT JOIN (
    SELECT cluster_id, group_id, incarnation, generation, COUNT(*) AS members
    FROM generation_members
    GROUP BY cluster_id, group_id, incarnation, generation
) AS m
    ON m.cluster_id = l.cluster_id AND m.group_id = l.group_id
    AND m.incarnation = l.incarnation AND m.generation = l.generation
WHERE l.to_time IS NOT NULL AND l.evidence <> 'clients'
