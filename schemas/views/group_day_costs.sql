-- group_day_costs: cost of rebalances and restarts per group and day: partition downtime, records handled again, pauses and lag.
SELECT
    c.cluster_id,                   -- cluster
    c.group_id,                     -- consumer group
    c.event_date,                   -- UTC date of the costs, see handover_costs
    c.handovers,                    -- tenures of partitions that ended, with or without a next owner
    g.unowned_partition_ms,         -- partition downtime in ms, summed over partitions; null without downtime
    g.unowned_partition_ms_low,     -- lower limit of unowned_partition_ms, see ownership_gaps
    g.unowned_partition_ms_high,    -- upper limit of unowned_partition_ms, see ownership_gaps
    c.records_reprocessed,          -- records that the next owners handle again, estimated; null without commits
    c.records_reprocessed_low,      -- lower limit of records_reprocessed
    c.records_reprocessed_high,     -- upper limit of records_reprocessed, if bounded
    c.bounded,                      -- false if a process whose session had expired returned, which may have handled more records
    c.consumption_pause_ms,         -- ms without a consumed record, summed over partitions; null without commits
    c.record_seconds                -- lag integrated over the handovers, in records times seconds; null without log end offsets
FROM (
    SELECT
        cluster_id, group_id, event_date, COUNT(*) AS handovers,
        SUM(records_reprocessed) AS records_reprocessed,
        SUM(records_reprocessed_low) AS records_reprocessed_low,
        SUM(records_reprocessed_high) AS records_reprocessed_high,
        MIN(CASE WHEN bounded THEN 1 ELSE 0 END) = 1 AS bounded,
        SUM(consumption_pause_ms) AS consumption_pause_ms,
        SUM(record_seconds) AS record_seconds
    FROM handover_costs
    GROUP BY cluster_id, group_id, event_date
) c
LEFT JOIN (
    SELECT
        cluster_id, group_id, event_date, SUM(unowned_ms) AS unowned_partition_ms,
        SUM(COALESCE(unowned_ms_low, unowned_ms)) AS unowned_partition_ms_low,
        SUM(COALESCE(unowned_ms_high, unowned_ms)) AS unowned_partition_ms_high
    FROM ownership_gaps
    GROUP BY cluster_id, group_id, event_date
) g
    ON g.cluster_id = c.cluster_id AND g.group_id = c.group_id AND g.event_date = c.event_date
