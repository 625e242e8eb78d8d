-- q08_slow_members: slow members: the last member that each rebalance waited for, and the members dropped for not rejoining or not giving up partitions.
WITH phases AS (
    SELECT
        g.*, COALESCE(g.group_type, 'classic') = 'classic' AS is_classic, l.join_ms, l.sync_ms, l.total_ms, c.members_dropped,
        MAX(CASE WHEN c.partitions_assigned IS NOT NULL THEN g.generation END) OVER (
            PARTITION BY g.cluster_id, g.group_id, g.incarnation ORDER BY g.generation
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS recorded_before,
        LAG(g.protocol) OVER (
            PARTITION BY g.cluster_id, g.group_id, g.incarnation ORDER BY g.generation
        ) IN ('cooperative-sticky', 'stream') AS cooperative
    FROM generations g
    JOIN rebalance_latency l
        ON l.cluster_id = g.cluster_id AND l.group_id = g.group_id
        AND l.incarnation = g.incarnation AND l.generation = g.generation
    LEFT JOIN churn c
        ON c.cluster_id = g.cluster_id AND c.group_id = g.group_id
        AND c.incarnation = g.incarnation AND c.generation = g.generation
    WHERE g.preparing_time IS NOT NULL AND g.joined_time IS NOT NULL
),
-- This is the process of each member id.
named AS (
    SELECT cluster_id, group_id, member_id, MAX(process) AS process
    FROM generation_members
    GROUP BY cluster_id, group_id, member_id
),
arrivals AS (
    -- Eager members commit right before they rejoin; cooperative members keep consuming.
    SELECT
        p.cluster_id, p.group_id, p.incarnation, p.generation, p.member_count,
        a.process, c.commit_time AS arrival_time, 'commits' AS evidence
    FROM phases p
    JOIN rebalance_commits c
        ON c.cluster_id = p.cluster_id AND c.group_id = p.group_id
        AND c.incarnation = p.incarnation AND c.generation = p.generation
    JOIN assignments a
        ON a.cluster_id = p.cluster_id AND a.group_id = p.group_id
        AND a.incarnation = p.incarnation AND a.generation = p.recorded_before
        AND a.assignor = 'actual' AND (a.role IS NULL OR a.role = 'active') AND a.topic = c.topic AND a.partition = c.partition
    WHERE p.is_classic AND NOT p.cooperative
    UNION ALL
    SELECT
        p.cluster_id, p.group_id, p.incarnation, p.generation, p.member_count,
        COALESCE(n.process, t.instance_id, t.member_id), GREATEST(t.event_time, p.preparing_time), 'log'
    FROM phases p
    JOIN timeline t
        ON t.cluster_id = p.cluster_id AND t.group_id = p.group_id
        AND t.incarnation = p.incarnation AND t.forming_generation = p.generation
        AND t.event IN ('MEMBER_JOIN', 'STATIC_NEW')
        -- The join that starts the rebalance is logged right before it.
        AND t.event_time >= p.preparing_time - INTERVAL '1' SECOND AND t.event_time <= p.joined_time
        AND p.is_classic
    LEFT JOIN named n
        ON n.cluster_id = t.cluster_id AND n.group_id = t.group_id AND n.member_id = t.member_id
),
-- Time at which each member of a consumer, share or streams group reached the target.
reached AS (
    SELECT
        cluster_id, group_id, incarnation, epoch AS generation, process,
        ROW_NUMBER() OVER (
            PARTITION BY cluster_id, group_id, incarnation, epoch ORDER BY first_time DESC, process
        ) AS from_the_end
    FROM (
        SELECT cluster_id, group_id, incarnation, epoch, process, MIN(time) AS first_time
        FROM member_epochs
        WHERE state = 'STABLE'
        GROUP BY cluster_id, group_id, incarnation, epoch, process
    ) AS first_times
),
-- These members were removed while the rebalance waited for them; a line may name several members.
removed AS (
    SELECT
        p.cluster_id, p.group_id, p.incarnation, p.generation,
        COUNT(DISTINCT t.departed_id) AS members,
        ARRAY_SORT(ARRAY_AGG(DISTINCT COALESCE(n.process, t.departed_id))) AS processes
    FROM phases p
    JOIN (
        SELECT *, EXPLODE(members) AS departed_id
        FROM timeline
        WHERE event = 'DROPPED_NOT_REJOINED'
        UNION ALL
        SELECT *, member_id AS departed_id
        FROM timeline
        WHERE event = 'HEARTBEAT_EXPIRED'
    ) AS t
        ON t.cluster_id = p.cluster_id AND t.group_id = p.group_id
        AND t.incarnation = p.incarnation AND t.forming_generation = p.generation
        AND t.event_time > p.preparing_time AND t.event_time <= p.joined_time
    LEFT JOIN named n
        ON n.cluster_id = t.cluster_id AND n.group_id = t.group_id AND n.member_id = t.departed_id
    WHERE p.is_classic AND t.departed_id IS DISTINCT FROM p.culprit_member_id
    GROUP BY p.cluster_id, p.group_id, p.incarnation, p.generation
),
-- Lines show only the joins of new members, so they show the last join only if all members are new.
complete AS (
    SELECT cluster_id, group_id, incarnation, generation
    FROM arrivals
    GROUP BY cluster_id, group_id, incarnation, generation, member_count
    HAVING SUM(CASE WHEN evidence = 'commits' THEN 1 ELSE 0 END) > 0
        OR COUNT(DISTINCT process) >= COALESCE(member_count, 1)
),
last_arrivals AS (
    SELECT
        a.*,
        ROW_NUMBER() OVER (
            PARTITION BY a.cluster_id, a.group_id, a.incarnation, a.generation
            ORDER BY a.arrival_time DESC, a.evidence, a.process
        ) AS from_the_end
    FROM arrivals a
    JOIN complete c
        ON c.cluster_id = a.cluster_id AND c.group_id = a.group_id
        AND c.incarnation = a.incarnation AND c.generation = a.generation
)
SELECT
    p.cluster_id,                   -- cluster
    p.group_id,                     -- consumer group
    p.incarnation,                  -- incarnation of the group
    p.generation,                   -- generation that the rebalance made
    p.preparing_time,               -- start of the rebalance
    p.join_ms,                      -- ms waiting for all members to join; other group types: ms until the target was computed
    j.process AS last_to_join,      -- process that joined last, by log and commits; null if unknown (a log has only joins of new members), and for groups that are not classic, in which no member waits for joins
    UNIX_MILLIS(j.arrival_time) - UNIX_MILLIS(p.preparing_time) AS last_join_after_ms, -- ms from the start of the rebalance to this join
    UNIX_MILLIS(p.joined_time) - UNIX_MILLIS(j.arrival_time) AS waited_on_ms, -- ms waited after this join: for the initial delay, or for a member that did not rejoin
    j.evidence,                     -- log (a line has the join) or commits (the process committed, as eager members do right before they rejoin)
    GREATEST(p.members_dropped, COALESCE(d.members, 0)) AS members_dropped, -- members removed for not rejoining, not syncing or not giving up partitions in time, even if their session expired while the rebalance waited for them; null without a log
    d.processes AS did_not_rejoin,  -- processes that did not rejoin, and were removed while the rebalance waited; member ids if only lines name these members
    p.sync_ms,                      -- ms waiting for the leader's assignment; other group types: ms until all members had reached the target
    COALESCE(n.process, p.leader, t.process) AS last_to_sync, -- leader, for which all other members wait; other group types: the last process that reached the target
    CASE WHEN p.sync_ms > p.join_ms THEN 'sync' ELSE 'join' END AS slow_phase -- name of the longer of the two phases
FROM phases p
LEFT JOIN last_arrivals j
    ON j.cluster_id = p.cluster_id AND j.group_id = p.group_id
    AND j.incarnation = p.incarnation AND j.generation = p.generation
    AND j.from_the_end = 1
LEFT JOIN removed d
    ON d.cluster_id = p.cluster_id AND d.group_id = p.group_id
    AND d.incarnation = p.incarnation AND d.generation = p.generation
LEFT JOIN named n
    ON n.cluster_id = p.cluster_id AND n.group_id = p.group_id AND n.member_id = p.leader
LEFT JOIN reached t
    ON t.cluster_id = p.cluster_id AND t.group_id = p.group_id
    AND t.incarnation = p.incarnation AND t.generation = p.generation
    AND t.from_the_end = 1 AND NOT p.is_classic
ORDER BY cluster_id, join_ms DESC NULLS LAST, group_id, incarnation, generation
