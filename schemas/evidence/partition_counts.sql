-- partition_counts: one row per target or classic assignment and topic: the number of the topic's partitions in the assignment.
SELECT
    a.cluster_id, a.group_id, UNIX_MILLIS(g.joined_time) AS at_ms, a.topic,
    MAX(a.partition) + 1 AS partitions
FROM assignments a
JOIN generations g
    ON g.cluster_id = a.cluster_id AND g.group_id = a.group_id
    AND g.incarnation = a.incarnation AND g.generation = a.generation
WHERE g.joined_time IS NOT NULL AND COALESCE(a.is_target, TRUE)
GROUP BY a.cluster_id, a.group_id, g.joined_time, a.topic
