-- The assigned partitions of each generation's last record.
WITH last_records AS (
    SELECT cluster_id, group_id, topic_partition, log_offset, incarnation
    FROM timeline
    WHERE event = 'RECORD' AND event_generation IS NOT NULL
    QUALIFY lead(seq) OVER (PARTITION BY cluster_id, group_id, incarnation, event_generation ORDER BY seq) IS NULL
), each AS (
    SELECT cluster_id, group_id, incarnation, generation, unnest(members) AS member
    FROM group_metadata
    JOIN last_records USING (cluster_id, group_id, topic_partition, log_offset)
), by_topic AS (
    SELECT cluster_id, group_id, incarnation, generation, member.member_id, process, members.event_date,
        unnest(member.assigned) AS assigned
    FROM each
    JOIN generation_members AS members
        USING (cluster_id, group_id, incarnation, generation)
    WHERE members.member_id = member.member_id
)
SELECT
    cluster_id, group_id, incarnation, generation, event_date, 'actual' AS assignor, member_id, process,
    assigned.topic AS topic, unnest(assigned.partitions) AS partition, 'active' AS role, false AS is_target
FROM by_topic
