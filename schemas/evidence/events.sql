-- events: one row per event that a coordinator logged about a group, with its incarnation.
SELECT
    e.cluster_id, e.group_id, t.incarnation, e.event_seq, e.event, e.generation, e.member_id,
    e.instance_id, e.old_member_id, e.step, e.reason, e.client_reason, e.cause, e.member_count,
    e.members, e.broker_id, e.file_id, e.position, UNIX_MILLIS(e.event_time) AS at_ms
FROM group_events e
JOIN timeline t
    ON t.cluster_id = e.cluster_id AND t.group_id = e.group_id AND t.seq = e.event_seq
WHERE t.log_offset IS NULL
