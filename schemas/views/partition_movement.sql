-- partition_movement: one row per recorded generation and partition: previous and current owner, and partition downtime.
WITH recorded AS (
    SELECT
        s.cluster_id, s.group_id, s.incarnation, s.generation, s.running_time, s.until_time,
        s.protocol IN ('cooperative-sticky', 'stream') AS cooperative,
        LEAD(s.generation) OVER w AS after_generation,
        LEAD(s.running_time) OVER w AS after_running
    FROM generation_spans s
    JOIN churn c
        ON c.cluster_id = s.cluster_id AND c.group_id = s.group_id
        AND c.incarnation = s.incarnation AND c.generation = s.generation
    WHERE c.partitions_assigned IS NOT NULL
    WINDOW w AS (PARTITION BY s.cluster_id, s.group_id, s.incarnation ORDER BY s.generation)
),
owned AS (
    SELECT
        r.*, a.topic, a.partition, a.process, a.member_id,
        LAG(a.process) OVER w AS from_process,
        LAG(a.member_id) OVER w AS from_member_id,
        LAG(r.generation) OVER w AS from_generation,
        LAG(r.cooperative) OVER w AS from_cooperative,
        LAG(r.until_time) OVER w AS from_until,
        LAG(r.after_generation) OVER w AS from_after,
        LAG(r.after_running) OVER w AS from_after_running,
        LEAD(r.generation) OVER w AS next_generation
    FROM recorded r
    JOIN assignments a
        ON a.cluster_id = r.cluster_id AND a.group_id = r.group_id
        AND a.incarnation = r.incarnation AND a.generation = r.generation
        AND a.assignor = 'actual'
    WINDOW w AS (
        PARTITION BY r.cluster_id, r.group_id, r.incarnation, a.topic, a.partition
        ORDER BY r.generation
    )
),
-- Each generation with the next recorded one: generations without a record lead to it.
ways AS (
    SELECT
        s.cluster_id, s.group_id, s.incarnation, s.generation,
        MIN(r.generation) OVER (
            PARTITION BY s.cluster_id, s.group_id, s.incarnation ORDER BY s.generation DESC
        ) AS recorded_generation
    FROM generation_spans s
    LEFT JOIN recorded r
        ON r.cluster_id = s.cluster_id AND r.group_id = s.group_id
        AND r.incarnation = s.incarnation AND r.generation = s.generation
),
-- Last commits of owners: members commit before they stop, if they have new offsets.
last_commits AS (
    SELECT
        w.cluster_id, w.group_id, w.incarnation, w.recorded_generation AS generation,
        c.topic, c.partition, MAX(c.commit_time) AS commit_time
    FROM ways w
    JOIN rebalance_commits c
        ON c.cluster_id = w.cluster_id AND c.group_id = w.group_id
        AND c.incarnation = w.incarnation AND c.generation = w.generation
    GROUP BY
        w.cluster_id, w.group_id, w.incarnation, w.recorded_generation, c.topic, c.partition
),
-- Each partition in the generation that assigns it, and in the next one if that does not assign it.
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
    CASE WHEN o.is_after THEN o.process ELSE o.from_process END AS from_process, -- last owner, a process across restarts; null if the partition never had an owner
    CASE WHEN NOT o.is_after THEN o.process END AS to_process, -- current owner; null if unowned
    CASE WHEN o.is_after THEN o.generation ELSE o.from_generation END AS from_generation, -- generation of the last owner
    CASE
        WHEN o.is_after THEN 'orphaned'
        WHEN o.from_generation IS NULL THEN 'new'
        WHEN o.from_process <> o.process THEN 'moved'
        WHEN o.from_after < o.generation THEN 'returned'
        ELSE 'kept'
    END AS change,                  -- kept, moved (to another process), new (never had an owner), returned (to its last owner, after unowned generations), orphaned (unowned from now on)
    -- Cooperative members keep consuming retained partitions; eager members stop all when they rejoin.
    CASE WHEN NOT o.is_after THEN
        UNIX_MILLIS(o.running_time) - UNIX_MILLIS(
            CASE
                WHEN o.from_cooperative AND stayed.member_id IS NOT NULL THEN o.from_after_running
                ELSE GREATEST(o.from_until, MAX(l.commit_time) OVER (
                    PARTITION BY o.cluster_id, o.group_id, o.incarnation, o.generation,
                        o.from_generation, o.from_member_id
                ))
            END
        )
    END AS unavailable_ms           -- partition downtime in ms before this generation ran, an upper bound: since the owner's last commit in the join phase, else since the start of the rebalance; null for orphaned and new
FROM turns o
LEFT JOIN last_commits l
    ON l.cluster_id = o.cluster_id AND l.group_id = o.group_id
    AND l.incarnation = o.incarnation AND l.generation = o.from_after
    AND l.topic = o.topic AND l.partition = o.partition
LEFT JOIN generation_members stayed
    ON stayed.cluster_id = o.cluster_id AND stayed.group_id = o.group_id
    AND stayed.incarnation = o.incarnation AND stayed.generation = o.from_after
    AND stayed.member_id = o.from_member_id
