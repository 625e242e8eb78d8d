-- silences: one row per time without an owner, from the stop of a process to the next owner.
SELECT
    cluster_id, group_id, from_process AS process, UNIX_MILLIS(from_time) AS from_ms,
    UNIX_MILLIS(to_time) AS to_ms
FROM ownership_gaps
WHERE to_time IS NOT NULL
