-- partition_movement: each partition of each recorded generation: whose it was and is, and how long nobody had it.
WITH recorded AS (
    SELECT
        s.cluster_id, s.group_id, s.incarnation, s.generation, s.event_date,
        s.start_time, s.running_time, s.until_time,
        s.protocol IN ('cooperative-sticky', 'stream') AS cooperative,
        LAG(s.until_time) OVER w AS before_until,
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
-- Who commits has not stopped yet: members commit when they stop, for what is new since.
last_commits AS (
    SELECT
        r.cluster_id, r.group_id, r.incarnation, r.generation, c.topic, c.partition,
        MAX(c.append_time) AS commit_time
    FROM recorded r
    JOIN committed_offsets c
        ON c.cluster_id = r.cluster_id AND c.group_id = r.group_id
        AND c.event_date = r.event_date
        AND c.append_time >= r.before_until AND c.append_time <= r.running_time
    GROUP BY r.cluster_id, r.group_id, r.incarnation, r.generation, c.topic, c.partition
)
SELECT
    o.cluster_id,                   -- cluster
    o.group_id,                     -- consumer group
    o.incarnation,                  -- life of the group
    o.generation,                   -- generation
    o.topic,                        -- topic
    o.partition,                    -- partition
    o.from_process,                 -- who had it last, across restarts; null if nobody had
    o.process AS to_process,        -- who has it now; null if nobody has
    o.from_generation,              -- generation in which it last had an owner
    CASE
        WHEN o.from_generation IS NULL THEN 'new'
        WHEN o.from_process <> o.process THEN 'moved'
        WHEN o.from_after < o.generation THEN 'returned'
        ELSE 'kept'
    END AS change,                  -- kept, moved (to another process), new (never had an owner), returned (to its last owner, after generations without one), orphaned (nobody has it any more)
    -- Cooperative members go on with what they keep; others stop with everything when they join.
    UNIX_MILLIS(o.running_time) - UNIX_MILLIS(
        CASE
            WHEN o.from_cooperative AND stayed.member_id IS NOT NULL THEN o.from_after_running
            ELSE GREATEST(o.from_until, MAX(l.commit_time) OVER (
                PARTITION BY o.cluster_id, o.group_id, o.incarnation, o.generation,
                    o.from_generation, o.from_member_id
            ))
        END
    ) AS unavailable_ms             -- ms at most that nobody had it until this generation ran: since its owner stopped (its last commit of the join phase for whatever it had, else the rebalance's start); null of an orphaned or new one
FROM owned o
LEFT JOIN last_commits l
    ON l.cluster_id = o.cluster_id AND l.group_id = o.group_id
    AND l.incarnation = o.incarnation AND l.generation = o.from_after
    AND l.topic = o.topic AND l.partition = o.partition
LEFT JOIN generation_members stayed
    ON stayed.cluster_id = o.cluster_id AND stayed.group_id = o.group_id
    AND stayed.incarnation = o.incarnation AND stayed.generation = o.from_after
    AND stayed.member_id = o.from_member_id
UNION ALL
SELECT
    cluster_id, group_id, incarnation, after_generation, topic, partition,
    process, NULL, generation, 'orphaned', NULL
FROM owned
WHERE after_generation IS NOT NULL
    AND (next_generation IS NULL OR next_generation > after_generation)
