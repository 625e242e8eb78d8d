-- downtime: one row per group with unowned partitions: its partition downtime from :begin_ms to :end_ms; these are SQL expressions over group_id.
SELECT
    cluster_id, group_id,
    SUM(GREATEST(
        LEAST(UNIX_MILLIS(from_time) + unowned_ms, :end_ms)
        - GREATEST(UNIX_MILLIS(from_time), :begin_ms), 0
    )) AS downtime_ms
FROM ownership_gaps
GROUP BY cluster_id, group_id
