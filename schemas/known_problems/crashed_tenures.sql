-- crashed_tenures: one row per tenure of a partition whose owner crashed or was killed, with the number of these tenures at the same committed offset on the date.
SELECT
    t.*,
    COUNT(*) OVER (
        PARTITION BY group_id, incarnation, topic, partition, event_date, committed_offset
    ) AS crashes,
    SUM(CASE WHEN is_quiet THEN 1 ELSE 0 END) OVER (
        PARTITION BY group_id, incarnation, topic, partition, event_date, committed_offset
    ) AS quiet_crashes
FROM (
    SELECT
        group_id, incarnation, topic, partition, event_date, process, how_ended,
        records_per_second,
        last_commit_offset AS committed_offset, UNIX_MILLIS(last_commit_time) AS committed_ms,
        UNIX_MILLIS(from_time) AS from_ms, UNIX_MILLIS(to_time_high) AS crash_ms,
        -- The tenure ended without a commit of its own.
        last_commit_time < from_time AS is_quiet,
        ROW_NUMBER() OVER (
            PARTITION BY group_id, incarnation, topic, partition, member_id
            ORDER BY to_time_high DESC, from_time DESC
        ) AS place
    FROM handover_costs
    WHERE last_commit_offset IS NOT NULL AND (
        how_ended = 'session_expired' OR how_ended = 'replaced' AND last_commit_time < from_time
    )
) t
-- The session of a member expires only once. A static member has the member id of its first process.
WHERE place = 1 OR how_ended = 'replaced'
