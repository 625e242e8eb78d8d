-- downtime: one row per group with unowned partitions: its partition downtime from :begin_ms to :end_ms, and the range of this downtime (see ownership_gaps); the parameters are SQL expressions over group_id.
SELECT
    cluster_id, group_id,
    SUM(GREATEST(LEAST(until_ms, :end_ms) - GREATEST(until_ms - unowned_ms, :begin_ms), 0)) AS downtime_ms,
    SUM(GREATEST(LEAST(until_ms, :end_ms) - GREATEST(until_ms - low_ms, :begin_ms), 0)) AS downtime_ms_low,
    SUM(GREATEST(LEAST(until_ms, :end_ms) - GREATEST(until_ms - high_ms, :begin_ms), 0)) AS downtime_ms_high
FROM (
    SELECT
        cluster_id, group_id, unowned_ms, UNIX_MILLIS(from_time) + unowned_ms AS until_ms,
        COALESCE(unowned_ms_low, unowned_ms) AS low_ms,
        COALESCE(unowned_ms_high, unowned_ms) AS high_ms
    FROM ownership_gaps
) AS g
GROUP BY cluster_id, group_id
