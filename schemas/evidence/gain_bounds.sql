-- gain_bounds: one row per group that rebalanced: time in rebalances and partition downtime, which limit the savings of a change, and columns by which similar groups are equal.
SELECT
    l.cluster_id, l.group_id, l.not_stable_ms, COALESCE(o.downtime_ms, 0) AS downtime_ms,
    COALESCE(o.partitions, 0) AS partitions, g.group_type, g.protocol,
    COALESCE(m.members, 0) AS members
FROM (
    SELECT cluster_id, group_id, SUM(COALESCE(total_ms, sync_ms, 0)) AS not_stable_ms
    FROM rebalance_latency WHERE evidence <> 'clients' GROUP BY cluster_id, group_id
) AS l
LEFT JOIN (
    SELECT cluster_id, group_id, SUM(unowned_ms) AS downtime_ms,
        COUNT(DISTINCT CONCAT(topic, '/', CAST(partition AS STRING))) AS partitions
    FROM ownership_gaps GROUP BY cluster_id, group_id
) AS o ON o.cluster_id = l.cluster_id AND o.group_id = l.group_id
LEFT JOIN (
    -- For a classic group whose members are not consumers, this is the protocol type.
    SELECT cluster_id, group_id, MAX(protocol) AS protocol,
        MAX(CASE WHEN COALESCE(group_type, 'classic') <> 'classic' THEN group_type
            WHEN COALESCE(protocol_type, '') IN ('', 'consumer') THEN 'classic'
            ELSE protocol_type END) AS group_type
    FROM generations WHERE evidence <> 'clients' GROUP BY cluster_id, group_id
) AS g ON g.cluster_id = l.cluster_id AND g.group_id = l.group_id
LEFT JOIN (
    SELECT cluster_id, group_id, MAX(members) AS members
    FROM (
        SELECT cluster_id, group_id, incarnation, generation, COUNT(*) AS members
        FROM generation_members GROUP BY cluster_id, group_id, incarnation, generation
    ) AS of_generation
    GROUP BY cluster_id, group_id
) AS m ON m.cluster_id = l.cluster_id AND m.group_id = l.group_id
