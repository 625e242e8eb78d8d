-- q10_each_rebalance: the cost of each rebalance, in partition downtime and records handled again, which can be summed over any span of time.
WITH spans AS (
    -- Without a record, figures of partitions and commits are unknown, so they are null, not 0.
    SELECT *, CASE WHEN evidence IN ('records', 'both') THEN 0 END AS recorded_zero
    FROM generation_spans
),
stopped AS (
    SELECT
        cluster_id, group_id, incarnation, generation,
        COUNT(DISTINCT topic || '/' || partition) AS partitions_unowned,
        SUM(unowned_ms) AS unowned_partition_ms,
        SUM(COALESCE(unowned_ms_low, unowned_ms)) AS low_ms,
        SUM(COALESCE(unowned_ms_high, unowned_ms)) AS high_ms,
        MAX(unowned_ms) AS longest_unowned_ms
    FROM ownership_gaps
    -- A gap within one generation comes from a static replacement, not from a rebalance.
    WHERE generation > from_generation
    GROUP BY cluster_id, group_id, incarnation, generation
),
rewinds AS (
    SELECT
        s.cluster_id, s.group_id, s.incarnation, s.generation,
        COUNT(*) AS offset_rewinds, SUM(b.reconsumed_records) AS reconsumed_records
    FROM generation_spans s
    JOIN offset_rewinds b
        ON b.cluster_id = s.cluster_id AND b.group_id = s.group_id
        AND b.append_time > s.from_time AND b.append_time <= s.to_time
    GROUP BY s.cluster_id, s.group_id, s.incarnation, s.generation
)
SELECT
    s.cluster_id,                   -- cluster
    s.group_id,                     -- consumer group
    s.incarnation,                  -- incarnation of the group
    s.generation,                   -- generation that the rebalance made
    s.from_time,                   -- start of the rebalance; without a log the end of the join phase
    s.running_time AS to_time,     -- end of the rebalance: assignment received, group empty, or superseded by the next rebalance
    s.outcome,                      -- stable, empty, superseded, failed or unknown
    r.cause,                        -- cause class
    r.story,                        -- action of the process
    r.culprit,                      -- process that triggered the rebalance
    s.total_ms,                     -- ms not Stable; null without a log
    r.partitions_moved,             -- partitions whose owner changed to another process
    COALESCE(p.partitions_unowned, s.recorded_zero) AS partitions_unowned, -- partitions that were unowned until this rebalance; null without a record
    COALESCE(p.unowned_partition_ms, s.recorded_zero) AS unowned_partition_ms, -- partition downtime in ms that this rebalance ended, summed over partitions, as in ownership_gaps; null without a record
    COALESCE(p.low_ms, s.recorded_zero) AS unowned_partition_ms_low, -- lower limit of unowned_partition_ms, see ownership_gaps
    COALESCE(p.high_ms, s.recorded_zero) AS unowned_partition_ms_high, -- upper limit of unowned_partition_ms, see ownership_gaps
    p.longest_unowned_ms,       -- longest downtime of one partition
    COALESCE(a.offset_rewinds, s.recorded_zero) AS offset_rewinds, -- commits that went back to a lower offset, during this generation; null without a record
    COALESCE(a.reconsumed_records, s.recorded_zero) AS reconsumed_records, -- records consumed again after these commits; null without a record
    d.records_reprocessed,          -- records that next owners handle again, see rebalance_costs; null without commits
    d.records_reprocessed_low,      -- lower limit of records_reprocessed
    d.records_reprocessed_high,     -- upper limit of records_reprocessed, if bounded
    d.consumption_pause_ms          -- ms without a consumed record, summed over partitions; null without commits
FROM spans s
LEFT JOIN rebalances r
    ON r.cluster_id = s.cluster_id AND r.group_id = s.group_id
    AND r.incarnation = s.incarnation AND r.generation = s.generation
LEFT JOIN stopped p
    ON p.cluster_id = s.cluster_id AND p.group_id = s.group_id
    AND p.incarnation = s.incarnation AND p.generation = s.generation
LEFT JOIN rewinds a
    ON a.cluster_id = s.cluster_id AND a.group_id = s.group_id
    AND a.incarnation = s.incarnation AND a.generation = s.generation
LEFT JOIN rebalance_costs d
    ON d.cluster_id = s.cluster_id AND d.group_id = s.group_id
    AND d.incarnation = s.incarnation AND d.generation = s.generation
ORDER BY cluster_id, group_id, incarnation, generation
