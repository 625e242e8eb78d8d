-- partition_movement: one row per recorded generation and partition: previous and current owner, and partition downtime.
WITH recorded AS (
    SELECT
        c.cluster_id, c.group_id, c.incarnation, c.generation,
        LEAD(c.generation) OVER (
            PARTITION BY c.cluster_id, c.group_id, c.incarnation ORDER BY c.generation
        ) AS after_generation
    FROM churn c
    WHERE c.partitions_assigned IS NOT NULL
),
owned AS (
    SELECT
        r.*, a.topic, a.partition, a.process,
        LAG(a.process) OVER w AS from_process,
        LAG(r.generation) OVER w AS from_generation,
        LAG(r.after_generation) OVER w AS from_after,
        LEAD(r.generation) OVER w AS next_generation
    FROM recorded r
    -- In share groups several processes may have a partition; as in churn, the last member counts.
    JOIN (
        SELECT
            cluster_id, group_id, incarnation, generation, topic, partition,
            MAX_BY(process, member_id) AS process
        FROM assignments
        WHERE assignor = 'actual' AND (role IS NULL OR role NOT IN ('standby', 'warmup'))
        GROUP BY cluster_id, group_id, incarnation, generation, topic, partition
    ) AS a
        ON a.cluster_id = r.cluster_id AND a.group_id = r.group_id
        AND a.incarnation = r.incarnation AND a.generation = r.generation
    WINDOW w AS (
        PARTITION BY r.cluster_id, r.group_id, r.incarnation, a.topic, a.partition
        ORDER BY r.generation
    )
),
-- A gap within one generation comes from a static replacement, not from a rebalance.
downtime AS (
    SELECT
        cluster_id, group_id, incarnation, generation, topic, partition,
        SUM(unowned_ms) AS unowned_ms,
        SUM(COALESCE(unowned_ms_low, unowned_ms)) AS low_ms,
        SUM(COALESCE(unowned_ms_high, unowned_ms)) AS high_ms
    FROM ownership_gaps
    WHERE generation > from_generation
    GROUP BY cluster_id, group_id, incarnation, generation, topic, partition
),
-- Each partition appears in the generation that assigns it, and in the next generation if that generation does not assign it.
-- No UNION: DuckDB 2.0 does not finish a LIMIT over a union whose sides read the same CTE.
turns AS (
    SELECT
        o.*,
        CASE WHEN t.is_after THEN o.after_generation ELSE o.generation END AS at_generation,
        t.is_after
    FROM owned o
    CROSS JOIN (VALUES (false), (true)) AS t(is_after)
    WHERE NOT t.is_after OR o.after_generation IS NOT NULL
        AND (o.next_generation IS NULL OR o.next_generation > o.after_generation)
)
SELECT
    o.cluster_id,                   -- cluster
    o.group_id,                     -- consumer group
    o.incarnation,                  -- incarnation of the group
    o.at_generation AS generation,  -- generation
    o.topic,                        -- topic
    o.partition,                    -- partition
    CASE WHEN o.is_after THEN o.process ELSE o.from_process END AS from_process, -- process that owned the partition last, with the same name across restarts; null if the partition never had an owner
    CASE WHEN NOT o.is_after THEN o.process END AS to_process, -- current owner; null if unowned
    CASE WHEN o.is_after THEN o.generation ELSE o.from_generation END AS from_generation, -- generation of the last owner
    CASE
        WHEN o.is_after THEN 'orphaned'
        WHEN o.from_generation IS NULL THEN 'new'
        WHEN o.from_process <> o.process THEN 'moved'
        WHEN o.from_after < o.generation THEN 'returned'
        ELSE 'kept'
    END AS change,                  -- kept, moved (to another process), new (never had an owner), returned (to its last owner, after unowned generations), orphaned (unowned from now on)
    CASE
        WHEN NOT o.is_after AND o.from_generation IS NOT NULL THEN COALESCE(d.unowned_ms, 0)
    END AS unowned_ms,              -- partition downtime in ms that this generation's assignment ended, as in ownership_gaps; null for orphaned and new
    CASE
        WHEN NOT o.is_after AND o.from_generation IS NOT NULL THEN COALESCE(d.low_ms, 0)
    END AS unowned_ms_low,          -- lower limit of unowned_ms, see ownership_gaps
    CASE
        WHEN NOT o.is_after AND o.from_generation IS NOT NULL THEN COALESCE(d.high_ms, 0)
    END AS unowned_ms_high          -- upper limit of unowned_ms, see ownership_gaps
FROM turns o
LEFT JOIN downtime d
    ON d.cluster_id = o.cluster_id AND d.group_id = o.group_id
    AND d.incarnation = o.incarnation AND d.generation = o.at_generation
    AND d.topic = o.topic AND d.partition = o.partition
