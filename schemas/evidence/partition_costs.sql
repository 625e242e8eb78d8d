-- partition_costs: one row per group and partition with commits: the cost of the ends of its tenures from :begin_ms to :end_ms, and how the partition is consumed; the parameters are SQL expressions over group_id.
SELECT
    cluster_id, group_id, topic, partition,
    ROUND(AVG(records_per_second), 3) AS records_per_second,
    AVG(commit_interval_ms) AS commit_interval_ms,
    -- Use tenths: a sum of doubles depends on the order of the rows.
    SUM(CAST(ROUND(10 * records_reprocessed) AS BIGINT)) / 10.0 AS records_reprocessed,
    SUM(consumption_pause_ms) AS consumption_pause_ms,
    -- For partitions that caught up: the longest time, the sum of these times, and the sum of the pauses.
    MAX(catch_up_ms) AS catch_up_ms,
    SUM(CASE WHEN consumption_pause_ms IS NOT NULL THEN catch_up_ms END) AS caught_up_ms,
    SUM(CASE WHEN catch_up_ms IS NOT NULL THEN consumption_pause_ms END) AS caught_pause_ms,
    SUM(CASE WHEN how_ended = 'poll_timeout'
        THEN CAST(ROUND(10 * records_reprocessed) AS BIGINT) ELSE 0 END) / 10.0 AS slow_records,
    SUM(CASE WHEN how_ended = 'poll_timeout' THEN records_per_second ELSE 0 END) AS slow_rate
FROM handover_costs
WHERE records_per_second IS NOT NULL AND UNIX_MILLIS(to_time) BETWEEN :begin_ms AND :end_ms
GROUP BY cluster_id, group_id, topic, partition
