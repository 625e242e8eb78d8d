-- generation_settings: one row per generation and settings of members: number of members with these settings, and for static members replaced within the generation the start and end of the replacement.
SELECT
    g.cluster_id, g.group_id, g.incarnation, g.generation,
    UNIX_MILLIS(COALESCE(g.joined_time, g.stable_time)) AS at_ms,
    COALESCE(g.group_type, 'classic') AS group_type, g.protocol,
    c.partitions_assigned AS partitions, m.is_static, m.session_timeout_ms,
    m.rebalance_timeout_ms, m.since_ms, m.until_ms, m.members
FROM generations AS g
JOIN (
    SELECT cluster_id, group_id, incarnation, generation, is_static, session_timeout_ms,
        rebalance_timeout_ms, since_ms, until_ms, COUNT(*) AS members
    FROM (
        SELECT cluster_id, group_id, incarnation, generation, is_static, session_timeout_ms,
            rebalance_timeout_ms, until_ms,
            LAG(until_ms) OVER (
                PARTITION BY cluster_id, group_id, incarnation, generation, process
                ORDER BY until_ms NULLS LAST
            ) AS since_ms
        FROM (
            SELECT cluster_id, group_id, incarnation, generation, process,
                instance_id IS NOT NULL AS is_static, session_timeout_ms, rebalance_timeout_ms,
                CASE WHEN left_how = 'replaced' THEN UNIX_MILLIS(left_time) END AS until_ms
            FROM generation_members
            -- Without a log, no evidence shows when a member was replaced.
            WHERE evidence IS NULL
                AND (left_how IS NULL OR left_how <> 'replaced' OR left_time IS NOT NULL)
        ) AS of_members
    ) AS of_processes
    GROUP BY cluster_id, group_id, incarnation, generation, is_static, session_timeout_ms,
        rebalance_timeout_ms, since_ms, until_ms
) AS m ON m.cluster_id = g.cluster_id AND m.group_id = g.group_id
    AND m.incarnation = g.incarnation AND m.generation = g.generation
LEFT JOIN churn AS c ON c.cluster_id = g.cluster_id AND c.group_id = g.group_id
    AND c.incarnation = g.incarnation AND c.generation = g.generation
WHERE g.joined_time IS NOT NULL OR g.stable_time IS NOT NULL
