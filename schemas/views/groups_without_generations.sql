-- groups_without_generations: groups that records, log lines or consumers name, but without a generation of their protocol, and the reason.
WITH recorded AS (
    SELECT
        cluster_id, group_id, group_type,
        MIN(append_time) AS first_time, MAX(append_time) AS last_time
    FROM group_records
    GROUP BY cluster_id, group_id, group_type
),
logged AS (
    SELECT
        cluster_id, group_id, MIN(event_time) AS first_time, MAX(event_time) AS last_time,
        -- The text after the number is the reason.
        SUBSTR(MIN(CASE
            WHEN epoch IS NOT NULL OR group_type IN ('consumer', 'share', 'streams')
                THEN '1 no target assignment in the lines'
            WHEN event IN ('ADMIN_DELETE', 'GROUP_DEAD', 'TOMBSTONE')
                THEN '2 deleted, no rebalance in records or log'
            WHEN event = 'SIMPLE_GROUP' THEN '3 created by a commit, without members'
            WHEN event NOT IN ('LOADED', 'UNLOADED') THEN '4 no rebalance in records or log'
            ELSE '5 loaded or unloaded by a broker, no rebalance in records or log'
        END), 3) AS reason,
        COALESCE(MAX(group_type), MAX(CASE
            WHEN event NOT IN ('LOADED', 'UNLOADED', 'ADMIN_DELETE', 'GROUP_CONFIG') THEN 'classic'
        END)) AS group_type
    FROM timeline
    GROUP BY cluster_id, group_id
),
committed AS (
    SELECT cluster_id, group_id, MIN(commit_time) AS first_time, MAX(commit_time) AS last_time
    FROM committed_offsets
    GROUP BY cluster_id, group_id
),
consuming AS (
    SELECT
        cluster_id, group_id, MIN(event_time) AS first_time, MAX(event_time) AS last_time,
        COUNT(CASE WHEN event IN ('JOINING', 'JOINED', 'STATE') THEN 1 END) AS joins,
        COUNT(CASE WHEN event = 'SELF_ASSIGNED' THEN 1 END) AS assigns
    FROM client_events
    WHERE group_id IS NOT NULL
    GROUP BY cluster_id, group_id
),
worked_out AS (
    SELECT DISTINCT cluster_id, group_id, COALESCE(group_type, 'classic') AS group_type
    FROM generations
)
SELECT
    cluster_id,  -- cluster
    group_id,    -- group
    group_type,  -- consumer, share, streams, or classic; null if the lines about the group do not show the type
    reason,      -- why no generation was computed
    first_time,  -- first record, line or commit
    last_time    -- last record, line or commit
FROM (
    SELECT
        r.cluster_id, r.group_id, r.group_type,
        'no target assignment in the records' AS reason,
        r.first_time, r.last_time
    FROM recorded r
    LEFT JOIN worked_out w
        ON w.cluster_id = r.cluster_id AND w.group_id = r.group_id AND w.group_type = r.group_type
    WHERE w.group_id IS NULL
    UNION ALL
    SELECT
        l.cluster_id, l.group_id, l.group_type, l.reason, l.first_time, l.last_time
    FROM logged l
    LEFT JOIN worked_out w ON w.cluster_id = l.cluster_id AND w.group_id = l.group_id
    LEFT JOIN recorded r ON r.cluster_id = l.cluster_id AND r.group_id = l.group_id
    WHERE w.group_id IS NULL AND r.group_id IS NULL
    UNION ALL
    SELECT
        c.cluster_id, c.group_id, 'classic' AS group_type,
        'commits without members' AS reason,
        c.first_time, c.last_time
    FROM committed c
    LEFT JOIN worked_out w ON w.cluster_id = c.cluster_id AND w.group_id = c.group_id
    LEFT JOIN recorded r ON r.cluster_id = c.cluster_id AND r.group_id = c.group_id
    LEFT JOIN logged l ON l.cluster_id = c.cluster_id AND l.group_id = c.group_id
    WHERE w.group_id IS NULL AND r.group_id IS NULL AND l.group_id IS NULL
    UNION ALL
    SELECT
        c.cluster_id, c.group_id, CAST(NULL AS STRING) AS group_type,
        CASE
            WHEN c.joins = 0 AND c.assigns > 0 THEN 'assign(): consumers with assign() are not members, so the group has no rebalances'
            ELSE 'clients'' lines without a generation'
        END AS reason,
        c.first_time, c.last_time
    FROM consuming c
    LEFT JOIN worked_out w ON w.cluster_id = c.cluster_id AND w.group_id = c.group_id
    LEFT JOIN recorded r ON r.cluster_id = c.cluster_id AND r.group_id = c.group_id
    LEFT JOIN logged l ON l.cluster_id = c.cluster_id AND l.group_id = c.group_id
    LEFT JOIN committed o ON o.cluster_id = c.cluster_id AND o.group_id = c.group_id
    WHERE w.group_id IS NULL AND r.group_id IS NULL AND l.group_id IS NULL AND o.group_id IS NULL
) AS seen
