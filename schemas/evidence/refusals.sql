-- refusals: one row per process that was refused because a member has its instance id (refused_id).
SELECT
    cluster_id, group_id, incarnation, UNIX_MILLIS(event_time) AS time_ms,
    old_member_id AS refused_id
FROM timeline
WHERE event = 'STATIC_FENCED' AND old_member_id IS NOT NULL
