-- modern_lines: one row per logged departure, join, group epoch and target, and per classic record, for groups with records of consumer, share or streams groups.
SELECT
    t.cluster_id, t.group_id, t.incarnation, t.seq, UNIX_MILLIS(t.event_time) AS time_ms,
    t.log_offset, t.event, t.event_generation, t.member_id, t.step, t.reason, t.client_reason,
    t.protocol, t.members
FROM timeline t
JOIN (SELECT DISTINCT cluster_id, group_id FROM group_records) g
    ON g.cluster_id = t.cluster_id AND g.group_id = t.group_id
WHERE t.event IN (
    'LEFT', 'FENCED', 'HEARTBEAT_EXPIRED', 'EPOCH_BUMP', 'TARGET', 'MEMBER_JOIN',
    'RECORD', 'RECORD_EMPTY', 'CONVERSION_RECORD'
)
