-- q10_each_rebalance: what each rebalance cost those who wait for records: sum over any time between t1 and t2.
WITH stopped AS (
    SELECT
        cluster_id, group_id, incarnation, generation,
        SUM(CASE WHEN unavailable_ms > 0 THEN 1 ELSE 0 END) AS partitions_unavailable,
        SUM(unavailable_ms) AS unavailable_partition_ms,
        MAX(unavailable_ms) AS longest_unavailable_ms
    FROM partition_movement
    GROUP BY cluster_id, group_id, incarnation, generation
),
again AS (
    SELECT
        s.cluster_id, s.group_id, s.incarnation, s.generation,
        COUNT(*) AS offset_rewinds, SUM(b.reconsumed_records) AS reconsumed_records
    FROM generation_spans s
    JOIN offset_rewinds b
        ON b.cluster_id = s.cluster_id AND b.group_id = s.group_id
        AND b.append_time > s.start_time AND b.append_time <= s.until_time
    GROUP BY s.cluster_id, s.group_id, s.incarnation, s.generation
)
SELECT
    s.cluster_id,                   -- cluster
    s.group_id,                     -- consumer group
    s.incarnation,                  -- life of the group
    s.generation,                   -- generation the rebalance made
    s.start_time,                   -- when it began; without a log when everybody had joined
    s.running_time AS end_time,     -- assignment received, group empty, or the next rebalance took over
    s.outcome,                      -- stable, empty, superseded, failed or unknown
    r.cause,                        -- why: cause class
    r.story,                        -- what the process did
    r.culprit,                      -- who began it
    s.total_ms,                     -- ms not Stable; null without a log
    r.partitions_moved,             -- partitions that went to another process
    p.partitions_unavailable,       -- partitions that nobody had for a while
    p.unavailable_partition_ms,     -- ms that nobody had them, summed over partitions, at most; see partition_movement
    p.longest_unavailable_ms,       -- of one partition
    COALESCE(a.offset_rewinds, 0) AS offset_rewinds, -- commits of a lower offset than before while this generation lasted: duplicates
    COALESCE(a.reconsumed_records, 0) AS reconsumed_records -- records consumed again by these
FROM generation_spans s
LEFT JOIN rebalances r
    ON r.cluster_id = s.cluster_id AND r.group_id = s.group_id
    AND r.incarnation = s.incarnation AND r.generation = s.generation
LEFT JOIN stopped p
    ON p.cluster_id = s.cluster_id AND p.group_id = s.group_id
    AND p.incarnation = s.incarnation AND p.generation = s.generation
LEFT JOIN again a
    ON a.cluster_id = s.cluster_id AND a.group_id = s.group_id
    AND a.incarnation = s.incarnation AND a.generation = s.generation
