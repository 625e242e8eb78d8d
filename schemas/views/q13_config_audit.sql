-- q13_config_audit: oddities in a group's configuration, on its last date with members.
WITH days AS (
    SELECT cluster_id, group_id, MAX(event_date) AS event_date
    FROM generation_members
    GROUP BY cluster_id, group_id
),
members AS (
    SELECT m.*, ARRAY_SORT(m.subscribed_topics) AS topics, a.partitions
    FROM generation_members m
    JOIN days d
        ON d.cluster_id = m.cluster_id AND d.group_id = m.group_id AND d.event_date = m.event_date
    LEFT JOIN (
        SELECT cluster_id, group_id, incarnation, generation, member_id, COUNT(*) AS partitions
        FROM assignments
        WHERE assignor = 'actual' AND (role IS NULL OR role NOT IN ('standby', 'warmup', 'connector'))
        GROUP BY cluster_id, group_id, incarnation, generation, member_id
    ) AS a
        ON a.cluster_id = m.cluster_id AND a.group_id = m.group_id
        AND a.incarnation = m.incarnation AND a.generation = m.generation
        AND a.member_id = m.member_id
    -- The last member id of a replaced static member has its partitions.
    WHERE m.left_how IS DISTINCT FROM 'replaced'
),
by_generation AS (
    SELECT
        m.cluster_id, m.group_id, m.event_date, m.incarnation, m.generation, MAX(g.protocol) AS protocol,
        COALESCE(MAX(g.group_type), 'classic') AS group_type,
        COUNT(*) AS members,
        COUNT(m.instance_id) AS static_members,
        MIN(m.session_timeout_ms) AS session_timeout_min_ms,
        MAX(m.session_timeout_ms) AS session_timeout_max_ms,
        MIN(m.rebalance_timeout_ms) AS rebalance_timeout_min_ms,
        MAX(m.rebalance_timeout_ms) AS rebalance_timeout_max_ms,
        COUNT(DISTINCT m.topics) AS subscriptions,
        -- In share groups several members may have a partition.
        MAX(CASE WHEN g.group_type = 'share' THEN c.partitions_assigned END) AS shared_partitions,
        SUM(m.partitions) AS partitions,
        -- In the first round of a cooperative rebalance new members wait for revoked partitions; in
        -- modern groups they wait until the target is reached.
        SUM(CASE
            WHEN m.partitions IS NULL AND c.partitions_orphaned = 0
                AND (COALESCE(g.group_type, 'classic') = 'classic'
                    OR g.outcome = 'stable' AND c.partitions_assigned > 0)
                THEN 1 ELSE 0 END) AS idle
    FROM members m
    LEFT JOIN churn c
        ON c.cluster_id = m.cluster_id AND c.group_id = m.group_id
        AND c.incarnation = m.incarnation AND c.generation = m.generation
    LEFT JOIN generations g
        ON g.cluster_id = m.cluster_id AND g.group_id = m.group_id
        AND g.incarnation = m.incarnation AND g.generation = m.generation
    GROUP BY m.cluster_id, m.group_id, m.event_date, m.incarnation, m.generation
),
versions AS (
    SELECT
        r.cluster_id, r.group_id,
        MIN(CAST(SUBSTR(HEX(r.member.subscription), 4, 1) AS INT)) AS version_min,
        MAX(CAST(SUBSTR(HEX(r.member.subscription), 4, 1) AS INT)) AS version_max
    FROM (
        SELECT g.cluster_id, g.group_id, g.event_date, EXPLODE(g.members) AS member
        FROM group_metadata g
        WHERE g.protocol_type = 'consumer'
    ) AS r
    JOIN days d
        ON d.cluster_id = r.cluster_id AND d.group_id = r.group_id AND d.event_date = r.event_date
    GROUP BY r.cluster_id, r.group_id
),
groups AS (
    SELECT
        cluster_id, group_id, event_date,
        MAX(members) AS members,
        MAX(static_members) AS static_members,
        MAX(members - static_members) AS dynamic_members,
        MAX(COALESCE(shared_partitions, partitions)) AS partitions,
        MIN(session_timeout_min_ms) AS session_timeout_min_ms,
        MAX(session_timeout_max_ms) AS session_timeout_max_ms,
        MIN(rebalance_timeout_min_ms) AS rebalance_timeout_min_ms,
        MAX(rebalance_timeout_max_ms) AS rebalance_timeout_max_ms,
        ARRAY_SORT(ARRAY_AGG(DISTINCT protocol) FILTER (WHERE protocol IS NOT NULL)) AS assignors,
        COUNT(DISTINCT protocol) AS assignor_count,
        COUNT(DISTINCT group_type) AS type_count,
        MAX(subscriptions) AS subscriptions,
        MAX(idle) AS idle_members,
        MAX(CASE WHEN idle > 0 AND members > COALESCE(shared_partitions, partitions) THEN 1 ELSE 0 END) AS too_many
    FROM by_generation
    GROUP BY cluster_id, group_id, event_date
)
SELECT
    g.cluster_id,                   -- cluster
    g.group_id,                     -- consumer group
    g.event_date,                   -- last UTC date on which the group had members; all other columns are about this date
    g.members,                      -- most members of a generation
    g.static_members,               -- most members with a group.instance.id
    g.dynamic_members,              -- most members without a group.instance.id
    g.partitions,                   -- most partitions assigned in a generation
    g.idle_members,                 -- most members without a partition in a generation
    g.session_timeout_min_ms,     -- shortest session.timeout.ms; null for members of modern groups, whose session timeout is the group's
    g.session_timeout_max_ms,      -- longest session.timeout.ms
    g.rebalance_timeout_min_ms,   -- shortest max.poll.interval.ms of a consumer; -1 if not sent
    g.rebalance_timeout_max_ms,    -- longest max.poll.interval.ms of a consumer
    g.assignors,                    -- assignors that the group chose, and server assignors
    g.subscriptions,                -- most different topic sets subscribed in a generation
    v.version_min AS subscription_version_min, -- lowest subscription version, which shows the age of the client
    v.version_max AS subscription_version_max, -- highest subscription version
    NULLIF(CONCAT_WS(', ',
        CASE WHEN g.session_timeout_min_ms < g.session_timeout_max_ms
            THEN 'session timeouts differ' END,
        CASE WHEN g.rebalance_timeout_min_ms < g.rebalance_timeout_max_ms
            THEN 'rebalance timeouts differ' END,
        CASE WHEN g.rebalance_timeout_min_ms BETWEEN 0 AND g.session_timeout_max_ms
            THEN 'session timeout not below rebalance timeout' END,
        CASE WHEN g.type_count > 1 THEN 'group type changed' END,
        CASE WHEN g.assignor_count > g.type_count THEN 'assignor changed' END,
        CASE WHEN v.version_min < v.version_max THEN 'client versions differ' END,
        CASE WHEN g.too_many = 1 THEN 'more members than partitions' END,
        CASE WHEN g.too_many = 0 AND g.idle_members > 0 THEN 'members without partitions' END,
        CASE WHEN g.subscriptions > 1 THEN 'subscriptions differ' END,
        CASE WHEN g.static_members > 0 AND g.dynamic_members > 0
            THEN 'static and dynamic members' END
    ), '') AS findings              -- list of oddities, separated by commas; null if there are no oddities
FROM groups g
LEFT JOIN versions v ON v.cluster_id = g.cluster_id AND v.group_id = g.group_id
ORDER BY cluster_id, group_id
