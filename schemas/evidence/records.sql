-- records: one row per record of a classic group, with its incarnation.
SELECT
    r.cluster_id, r.group_id, t.incarnation, r.topic_partition, r.log_offset, r.tombstone,
    r.value_version, r.generation, r.protocol_type, r.protocol, r.leader, r.state_timestamp_ms,
    r.members, UNIX_MILLIS(r.append_time) AS at_ms
FROM group_metadata r
JOIN timeline t
    ON t.cluster_id = r.cluster_id AND t.group_id = r.group_id
    AND t.topic_partition = r.topic_partition AND t.log_offset = r.log_offset
