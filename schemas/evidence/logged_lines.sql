-- logged_lines: one row per line about a member, a group epoch, a target or a conversion, for consumer, share and streams groups without records.
SELECT
    t.cluster_id, t.group_id, t.incarnation, t.seq, UNIX_MILLIS(t.event_time) AS time_ms,
    t.event, t.epoch, t.group_type, t.member_id, t.old_member_id, t.instance_id, t.step, t.reason,
    t.client_reason, t.protocol, TRUE AS is_logged
FROM timeline t
JOIN (
    SELECT DISTINCT cluster_id, group_id FROM timeline WHERE epoch IS NOT NULL
) m ON m.cluster_id = t.cluster_id AND m.group_id = t.group_id
LEFT JOIN (SELECT DISTINCT cluster_id, group_id FROM group_records) r
    ON r.cluster_id = t.cluster_id AND r.group_id = t.group_id
WHERE r.group_id IS NULL AND t.event IN (
    'LEFT', 'FENCED', 'HEARTBEAT_EXPIRED', 'EPOCH_BUMP', 'TARGET', 'MEMBER_JOIN', 'STATIC_REPLACED',
    'CONVERT'
)
