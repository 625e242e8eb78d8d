-- rebalance_commits: the last commit per partition in the join phase of a rebalance: eager members commit right before they rejoin.
WITH marks AS (
    SELECT
        s.cluster_id, s.group_id, s.incarnation, s.generation, s.from_time,
        COALESCE(g.joined_time, s.running_time) AS joined_time,
        ROW_NUMBER() OVER (
            PARTITION BY s.cluster_id, s.group_id ORDER BY s.incarnation, s.generation
        ) AS place
    FROM generation_spans s
    JOIN generations g
        ON g.cluster_id = s.cluster_id AND g.group_id = s.group_id
        AND g.incarnation = s.incarnation AND g.generation = s.generation
),
events AS (
    SELECT
        cluster_id, group_id, from_time AS event_time, place,
        NULL AS topic, NULL AS partition, 0 AS log_offset
    FROM marks
    UNION ALL
    SELECT cluster_id, group_id, append_time, NULL, topic, partition, log_offset
    FROM committed_offsets
    WHERE append_time IS NOT NULL AND NOT tombstone
),
placed AS (
    SELECT
        cluster_id, group_id, event_time, topic, partition,
        MAX(place) OVER (
            PARTITION BY cluster_id, group_id
            ORDER BY event_time, CASE WHEN topic IS NULL THEN 0 ELSE 1 END, log_offset, place
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS at_place
    FROM events
)
SELECT
    m.cluster_id,                   -- cluster
    m.group_id,                     -- consumer group
    m.incarnation,                  -- incarnation of the group
    m.generation,                   -- generation that the rebalance made
    p.topic,                        -- topic
    p.partition,                    -- partition
    MAX(p.event_time) AS commit_time -- last commit in the join phase
FROM placed p
JOIN marks m
    ON m.cluster_id = p.cluster_id AND m.group_id = p.group_id AND m.place = p.at_place
    AND p.event_time <= m.joined_time
WHERE p.topic IS NOT NULL
GROUP BY m.cluster_id, m.group_id, m.incarnation, m.generation, p.topic, p.partition
