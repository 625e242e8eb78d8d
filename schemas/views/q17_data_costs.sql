-- q17_data_costs: cost of the ends of tenures for the data of each group, by the way in which the tenures ended. Report the most records_reprocessed first.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    how_ended,                      -- why the owner stopped, see handover_costs
    COUNT(*) AS handovers,          -- tenures of partitions that ended in this way and have a next owner
    SUM(records_reprocessed) AS records_reprocessed, -- records that the next owners handle again, estimated; null without commits
    SUM(records_reprocessed_low) AS records_reprocessed_low, -- lower limit of records_reprocessed
    SUM(records_reprocessed_high) AS records_reprocessed_high, -- upper limit of records_reprocessed, if bounded
    MIN(CASE WHEN bounded THEN 1 ELSE 0 END) = 1 AS bounded, -- false if a process whose session had expired returned, which may have handled more records
    SUM(consumption_pause_ms) AS consumption_pause_ms, -- ms without a consumed record, summed over partitions; null without commits
    MAX(consumption_pause_ms) AS longest_pause_ms, -- longest pause of one partition
    SUM(record_seconds) AS record_seconds -- lag integrated over the handovers, in records times seconds; null without log end offsets
FROM handover_costs
WHERE next_process IS NOT NULL
GROUP BY cluster_id, group_id, how_ended
ORDER BY cluster_id, records_reprocessed DESC NULLS LAST, group_id, how_ended
