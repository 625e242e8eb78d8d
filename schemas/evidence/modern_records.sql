-- modern_records: one row per record of a consumer, share or streams group, with its incarnation and its place in the group's timeline.
SELECT
    r.cluster_id, r.group_id, t.incarnation, t.seq, UNIX_MILLIS(t.event_time) AS time_ms,
    r.log_offset, r.topic_partition, r.record, r.group_type, r.tombstone, r.member_id, r.epoch,
    r.previous_epoch, r.state, r.metadata_hash, r.topology_epoch, r.instance_id, r.client_id,
    r.client_host, r.process_id, r.rebalance_timeout_ms, r.session_timeout_ms, r.server_assignor,
    r.protocols, r.regex, r.topics, r.assigned, r.pending_revocation, r.subtopologies
FROM group_records r
JOIN timeline t
    ON t.cluster_id = r.cluster_id AND t.group_id = r.group_id
    AND t.topic_partition = r.topic_partition AND t.log_offset = r.log_offset
