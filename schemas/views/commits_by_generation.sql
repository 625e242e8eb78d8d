-- commits_by_generation: commits per partition and running generation, and the partition's owner.
WITH running AS (
    SELECT
        s.*,
        ROW_NUMBER() OVER (
            PARTITION BY s.cluster_id, s.group_id ORDER BY s.incarnation, s.generation
        ) AS place
    FROM generation_spans s
    LEFT JOIN churn c
        ON c.cluster_id = s.cluster_id AND c.group_id = s.group_id
        AND c.incarnation = s.incarnation AND c.generation = s.generation
    WHERE s.outcome = 'empty' OR c.partitions_assigned IS NOT NULL
),
events AS (
    SELECT
        cluster_id, group_id, running_time AS event_time, place,
        NULL AS topic, NULL AS partition, 0 AS log_offset, NULL AS committed_offset
    FROM running
    UNION ALL
    SELECT
        cluster_id, group_id, append_time, NULL, topic, partition, log_offset, committed_offset
    FROM committed_offsets
    WHERE outcome IN ('plain', 'committed') AND NOT tombstone AND append_time IS NOT NULL
),
placed AS (
    SELECT
        topic, partition, cluster_id, group_id, event_time, committed_offset,
        -- A commit in the same millisecond as an assignment belongs to the previous generation.
        MAX(place) OVER (
            PARTITION BY cluster_id, group_id
            ORDER BY event_time, CASE WHEN topic IS NULL THEN 1 ELSE 0 END, log_offset, place
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS at_place
    FROM events
),
counted AS (
    SELECT
        cluster_id, group_id, topic, partition, at_place,
        COUNT(*) AS commits, MIN(event_time) AS first_time, MAX(event_time) AS last_time,
        MIN(committed_offset) AS min_offset, MAX(committed_offset) AS max_offset
    FROM placed
    WHERE topic IS NOT NULL
    GROUP BY cluster_id, group_id, topic, partition, at_place
)
SELECT
    c.cluster_id,                   -- cluster
    c.group_id,                     -- consumer group
    r.incarnation,                  -- incarnation of the group; null before the first generation
    r.generation,                   -- generation running at the time of the commits, until the next assignment; null before the first generation
    r.outcome,                      -- stable, or empty: the group had no members
    c.topic,                        -- topic
    c.partition,                    -- partition
    a.process AS owner,             -- process that owned the partition; null if unowned
    c.commits,                      -- number of commits
    c.first_time,                   -- time of the first commit
    c.last_time,                    -- time of the last commit
    c.min_offset,                 -- lowest offset committed
    c.max_offset                   -- highest offset committed
FROM counted c
LEFT JOIN running r
    ON r.cluster_id = c.cluster_id AND r.group_id = c.group_id AND r.place = c.at_place
LEFT JOIN (
    SELECT cluster_id, group_id, incarnation, generation, topic, partition, MAX(process) AS process
    FROM assignments
    WHERE assignor = 'actual' AND (role IS NULL OR role = 'active')
    GROUP BY cluster_id, group_id, incarnation, generation, topic, partition
) AS a
    ON a.cluster_id = c.cluster_id AND a.group_id = c.group_id
    AND a.incarnation = r.incarnation AND a.generation = r.generation
    AND a.topic = c.topic AND a.partition = c.partition
