-- handover_times: one row per time at which next owners received partitions, with the cost of the previous tenures' ends; null without commits.
SELECT cluster_id, group_id, UNIX_MILLIS(next_time) AS at_ms,
    -- Use tenths: a sum of doubles depends on the order of the rows.
    SUM(CAST(ROUND(10 * records_reprocessed) AS BIGINT)) AS tenths_reprocessed,
    SUM(consumption_pause_ms) AS consumption_pause_ms
FROM handover_costs WHERE next_time IS NOT NULL
GROUP BY cluster_id, group_id, UNIX_MILLIS(next_time)
