-- q11_would_benefit: the groups in which static membership would avoid rebalances: restarts of dynamic members that were back within their session timeout. The partitions then wait for the process: q12_what_if shows the effect on partition downtime.
WITH sessions AS (
    SELECT
        cluster_id, group_id, client_id, client_host,
        -- Records of modern groups lack the session timeout, so the default of group.consumer.session.timeout.ms applies.
        COALESCE(MAX(session_timeout_ms), 45000) AS session_timeout_ms
    FROM generation_members
    WHERE instance_id IS NULL
    GROUP BY cluster_id, group_id, client_id, client_host
),
actions AS (
    SELECT
        c.*,
        LAG(c.story) OVER w AS previous_story,
        LAG(c.event_time) OVER w AS previous_time,
        LEAD(c.story) OVER w AS next_story,
        LEAD(c.event_time) OVER w AS next_time
    FROM rebalance_causes c
    WINDOW w AS (
        PARTITION BY c.cluster_id, c.group_id, c.client_id, c.client_host
        ORDER BY c.incarnation, c.generation, c.cause_seq
    )
),
judged AS (
    SELECT
        c.cluster_id, c.group_id, c.incarnation, c.generation, c.story, c.client_id, c.client_host,
        s.client_id IS NOT NULL AND c.instance_id IS NULL
        -- Share groups have no static members.
        AND COALESCE(g.group_type, 'classic') <> 'share' AND (
            c.story = 'restart' AND c.next_story = 'return'
            AND UNIX_MILLIS(c.next_time) - UNIX_MILLIS(c.event_time) <= s.session_timeout_ms
            OR c.story = 'return' AND c.previous_story = 'restart'
            AND UNIX_MILLIS(c.event_time) - UNIX_MILLIS(c.previous_time) <= s.session_timeout_ms
        ) AS avoidable
    FROM actions c
    LEFT JOIN sessions s
        ON s.cluster_id = c.cluster_id AND s.group_id = c.group_id
        AND s.client_id = c.client_id AND s.client_host = c.client_host
    LEFT JOIN generations g
        ON g.cluster_id = c.cluster_id AND g.group_id = c.group_id
        AND g.incarnation = c.incarnation AND g.generation = c.generation
    WHERE c.role <> 'absorbed'
),
-- A rebalance is avoided only if it has no other cause.
avoided AS (
    SELECT
        cluster_id, group_id, incarnation, generation,
        SUM(CASE WHEN story = 'restart' AND avoidable THEN 1 ELSE 0 END) AS restarts,
        SUM(CASE WHEN avoidable THEN 0 ELSE 1 END) = 0 AS avoidable
    FROM judged
    GROUP BY cluster_id, group_id, incarnation, generation
),
members AS (
    SELECT
        cluster_id, group_id,
        COUNT(DISTINCT CASE WHEN instance_id IS NULL THEN process END) AS dynamic_processes,
        COUNT(DISTINCT instance_id) AS static_processes
    FROM generation_members
    -- Causes need broker evidence.
    WHERE COALESCE(evidence, '') <> 'clients'
    GROUP BY cluster_id, group_id
)
SELECT
    m.cluster_id,                   -- cluster
    m.group_id,                     -- consumer group
    m.dynamic_processes,            -- processes without a group.instance.id
    m.static_processes,             -- processes with a group.instance.id
    COALESCE(SUM(s.restarts), 0) AS restarts, -- restarts of dynamic members that were back within their session timeout
    COALESCE(SUM(CASE WHEN s.avoidable THEN 1 ELSE 0 END), 0) AS rebalances_avoidable, -- rebalances without any other cause
    CASE WHEN COUNT(CASE WHEN s.avoidable THEN 1 END) = 0 THEN 0
        ELSE SUM(CASE WHEN s.avoidable THEN l.total_ms END) END AS not_stable_avoidable_ms, -- ms in these rebalances; null without a log
    COALESCE(SUM(CASE WHEN s.avoidable THEN c.partitions_moved END), 0) AS moves_avoidable, -- partitions moved by these rebalances
    COALESCE(SUM(CASE WHEN s.avoidable THEN 1 ELSE 0 END), 0) > 0 AS would_benefit -- true if static membership would avoid at least one rebalance
FROM members m
LEFT JOIN avoided s ON s.cluster_id = m.cluster_id AND s.group_id = m.group_id
LEFT JOIN rebalance_latency l
    ON l.cluster_id = s.cluster_id AND l.group_id = s.group_id
    AND l.incarnation = s.incarnation AND l.generation = s.generation
LEFT JOIN churn c
    ON c.cluster_id = s.cluster_id AND c.group_id = s.group_id
    AND c.incarnation = s.incarnation AND c.generation = s.generation
GROUP BY m.cluster_id, m.group_id, m.dynamic_processes, m.static_processes
ORDER BY cluster_id, not_stable_avoidable_ms DESC NULLS LAST, group_id
