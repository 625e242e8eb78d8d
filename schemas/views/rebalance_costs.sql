-- rebalance_costs: cost of each rebalance for the data, summed over the partitions that it gave to their next owners. Static replacements, which are not rebalances, have the generation in which they happened.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    incarnation,                    -- incarnation of the group
    generation,                     -- generation that assigned the partitions to their next owners
    COUNT(*) AS handovers,          -- tenures of partitions that ended before this rebalance
    SUM(records_reprocessed) AS records_reprocessed, -- records that the next owners handle again, estimated; null without commits
    SUM(records_reprocessed_low) AS records_reprocessed_low, -- lower limit of records_reprocessed
    SUM(records_reprocessed_high) AS records_reprocessed_high, -- upper limit of records_reprocessed, if bounded
    MIN(CASE WHEN bounded THEN 1 ELSE 0 END) = 1 AS bounded, -- false if a process whose session had expired returned, which may have handled more records
    SUM(consumption_pause_ms) AS consumption_pause_ms, -- ms without a consumed record, summed over partitions; null without commits
    MAX(consumption_pause_ms) AS longest_pause_ms, -- longest pause of one partition
    SUM(record_seconds) AS record_seconds, -- lag integrated over the handovers, in records times seconds; null without log end offsets
    MAX(catch_up_ms) AS catch_up_ms -- ms until the last of these partitions had caught up; null without log end offsets, or if no partition caught up
FROM handover_costs
WHERE generation IS NOT NULL
GROUP BY cluster_id, group_id, incarnation, generation
