-- refusals: one row per refusal of a process whose instance id a member has (refused_id).
SELECT
    cluster_id, group_id, incarnation, UNIX_MILLIS(event_time) AS time_ms,
    old_member_id AS refused_id
FROM timeline
WHERE event = 'STATIC_FENCED' AND old_member_id IS NOT NULL
