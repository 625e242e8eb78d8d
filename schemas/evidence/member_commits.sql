-- member_commits: one row per partition that a member (committer_id) of a consumer or streams group had when it departed, or still has (departed_ms 0), with the partition's commits in the two minutes before.
SELECT
    m.cluster_id, m.group_id, m.incarnation, m.committer_id, m.departed_ms, m.subtopology,
    m.topic_id, m.partition, ARRAY_SORT(ARRAY_AGG(c.at_ms)) AS commits
FROM (
    -- Joining by equal minutes limits the join to nearby commits.
    SELECT
        p.*, COALESCE(n.topic, s.topic) AS topic,
        EXPLODE(SEQUENCE(
            CAST(FLOOR(p.until_ms / 60000) AS BIGINT) - 2,
            CAST(FLOOR(p.until_ms / 60000) AS BIGINT)
        )) AS minute
    FROM (
        SELECT
            o.cluster_id, o.group_id, o.incarnation, o.committer_id, o.departed_ms, o.until_ms,
            o.owned.subtopology AS subtopology, o.owned.topic_id AS topic_id,
            EXPLODE(o.owned.partitions) AS partition
        FROM (
            SELECT
                r.cluster_id, r.group_id, t.incarnation, r.member_id AS committer_id,
                CASE WHEN r.tombstone THEN UNIX_MILLIS(t.event_time) ELSE 0 END AS departed_ms,
                CASE WHEN r.tombstone THEN UNIX_MILLIS(t.event_time) ELSE e.last_ms + 60000
                    END AS until_ms,
                EXPLODE(CASE WHEN r.tombstone THEN r.had ELSE r.assigned END) AS owned
            FROM (
                SELECT
                    cluster_id, group_id, topic_partition, log_offset, member_id, tombstone,
                    assigned,
                    LAG(assigned) OVER (
                        PARTITION BY cluster_id, group_id, topic_partition, member_id
                        ORDER BY log_offset
                    ) AS had,
                    LEAD(log_offset) OVER (
                        PARTITION BY cluster_id, group_id, topic_partition, member_id
                        ORDER BY log_offset
                    ) AS next_offset
                FROM group_records
                WHERE record LIKE '%GroupCurrentMemberAssignment'
            ) r
            JOIN timeline t
                ON t.cluster_id = r.cluster_id AND t.group_id = r.group_id
                AND t.topic_partition = r.topic_partition AND t.log_offset = r.log_offset
            JOIN (
                SELECT cluster_id, group_id, MAX(UNIX_MILLIS(event_time)) AS last_ms
                FROM timeline
                GROUP BY cluster_id, group_id
            ) e
                ON e.cluster_id = r.cluster_id AND e.group_id = r.group_id
            WHERE r.tombstone OR r.next_offset IS NULL
        ) o
        WHERE o.owned.role = 'active'
    ) p
    LEFT JOIN topic_ids n
        ON n.cluster_id = p.cluster_id AND n.topic_id = p.topic_id
    LEFT JOIN (
        SELECT DISTINCT
            u.cluster_id, u.group_id, u.subtopology.subtopology AS subtopology,
            EXPLODE(CONCAT(
                u.subtopology.source_topics, u.subtopology.repartition_source_topics
            )) AS topic
        FROM (
            SELECT cluster_id, group_id, EXPLODE(subtopologies) AS subtopology FROM group_records
        ) u
    ) s
        ON s.cluster_id = p.cluster_id AND s.group_id = p.group_id
        AND s.subtopology = p.subtopology
) m
JOIN (
    SELECT
        cluster_id, group_id, topic, partition, UNIX_MILLIS(append_time) AS at_ms,
        CAST(FLOOR(UNIX_MILLIS(append_time) / 60000) AS BIGINT) AS minute
    FROM committed_offsets
    WHERE NOT tombstone AND append_time IS NOT NULL
) c
    ON c.cluster_id = m.cluster_id AND c.group_id = m.group_id AND c.topic = m.topic
    AND c.partition = m.partition AND c.minute = m.minute
WHERE c.at_ms BETWEEN m.until_ms - 120000 AND m.until_ms
GROUP BY
    m.cluster_id, m.group_id, m.incarnation, m.committer_id, m.departed_ms, m.subtopology,
    m.topic_id, m.partition
