-- stored_records: one row per record, in bytes, of a group that was a consumer, share or streams group, with its incarnation; includes records from the time in which the group was classic.
SELECT
    t.cluster_id, t.group_id, t.incarnation, t.topic_partition, t.log_offset, o.key, o.value,
    UNIX_MILLIS(o.append_time) AS at_ms
FROM timeline t
JOIN (SELECT DISTINCT cluster_id, group_id FROM group_records) g
    ON g.cluster_id = t.cluster_id AND g.group_id = t.group_id
JOIN offsets_records o
    ON o.cluster_id = t.cluster_id AND o.topic_partition = t.topic_partition
    AND o.log_offset = t.log_offset
WHERE t.log_offset IS NOT NULL AND o.key_type BETWEEN 2 AND 23
