-- q11_static_members: static membership audit: restarts, takeovers and fencing per group.instance.id.
WITH unnamed AS (
    -- Lines without a group, about an instance that no other line names.
    SELECT b.*
    FROM broker_log_events b
    LEFT JOIN group_events e
        ON e.cluster_id = b.cluster_id AND e.file_id = b.file_id AND e.position = b.position
    WHERE b.event = 'STATIC_FENCED' AND b.instance_id IS NOT NULL AND e.file_id IS NULL
),
known AS (
    SELECT
        cluster_id, group_id, instance_id, member_id, client_host, session_timeout_ms,
        1000000 * CAST(incarnation AS BIGINT) + generation AS place
    FROM generation_members
    WHERE instance_id IS NOT NULL
    UNION ALL
    -- Lines also name members that no record has.
    SELECT cluster_id, group_id, instance_id, member_id, client_host, CAST(NULL AS INT), CAST(NULL AS BIGINT)
    FROM group_events
    WHERE instance_id IS NOT NULL AND event <> 'STATIC_FENCED'
    UNION ALL
    SELECT cluster_id, group_id, instance_id, old_member_id, client_host, CAST(NULL AS INT), CAST(NULL AS BIGINT)
    FROM group_events
    WHERE instance_id IS NOT NULL AND old_member_id IS NOT NULL
    UNION ALL
    SELECT cluster_id, CAST(NULL AS STRING), instance_id, old_member_id, client_host, CAST(NULL AS INT), CAST(NULL AS BIGINT)
    FROM unnamed
),
members AS (
    SELECT
        cluster_id, group_id, instance_id,
        COUNT(DISTINCT member_id) AS member_ids,
        COUNT(DISTINCT client_host) AS hosts,
        MAX_BY(session_timeout_ms, place) AS session_timeout_ms
    FROM known
    GROUP BY cluster_id, group_id, instance_id
),
fences AS (
    SELECT cluster_id, group_id, instance_id, COUNT(*) AS fenced
    FROM (
        SELECT cluster_id, group_id, instance_id
        FROM timeline
        WHERE event = 'STATIC_FENCED' AND instance_id IS NOT NULL
        UNION ALL
        SELECT cluster_id, CAST(NULL AS STRING), instance_id FROM unnamed
    ) AS refused
    GROUP BY cluster_id, group_id, instance_id
),
causes AS (
    SELECT
        cluster_id, group_id, instance_id,
        SUM(CASE WHEN cause IN ('STATIC_REPLACED', 'STATIC_RETURN') THEN 1 ELSE 0 END) AS replacements,
        SUM(CASE WHEN story = 'takeover' THEN 1 ELSE 0 END) AS takeovers,
        SUM(CASE WHEN cause = 'SESSION_EXPIRY' THEN 1 ELSE 0 END) AS expiries,
        SUM(CASE WHEN role = 'trigger' THEN 1 ELSE 0 END) AS rebalances_started
    FROM rebalance_causes
    WHERE instance_id IS NOT NULL
    GROUP BY cluster_id, group_id, instance_id
)
SELECT
    m.cluster_id,                   -- cluster
    m.group_id,                     -- consumer group; null if the lines about the instance name none
    m.instance_id,                  -- group.instance.id
    m.session_timeout_ms,           -- session.timeout.ms, within which a restart triggers no rebalance; null without records, and for members of modern groups, whose session timeout is the group's
    m.member_ids,                   -- member ids of the instance
    NULLIF(m.hosts, 0) AS hosts,    -- addresses of the instance; null if no record or line has one
    COALESCE(c.replacements, 0) AS replacements, -- replacements by a new member id within the session
    COALESCE(c.takeovers, 0) AS takeovers, -- replacements while the old process still ran: two processes with one instance id
    COALESCE(f.fenced, 0) AS fenced, -- requests refused with FENCED_INSTANCE_ID or UNRELEASED_INSTANCE_ID, as logged
    COALESCE(c.expiries, 0) AS expiries, -- session expirations
    COALESCE(c.rebalances_started, 0) AS rebalances_started -- rebalances that the instance triggered
FROM members m
LEFT JOIN fences f
    ON f.cluster_id = m.cluster_id AND f.group_id IS NOT DISTINCT FROM m.group_id AND f.instance_id = m.instance_id
LEFT JOIN causes c
    ON c.cluster_id = m.cluster_id AND c.group_id = m.group_id AND c.instance_id = m.instance_id
ORDER BY cluster_id, group_id, instance_id
