-- q10_deploys: deploy report: two and more processes of a group restarted within a minute of each other, and what that cost.
WITH events AS (
    SELECT
        cluster_id, group_id, event_time, story,
        COALESCE(instance_id, client_id, member_id) AS who,
        LAG(story) OVER (
            PARTITION BY cluster_id, group_id, COALESCE(instance_id, client_id, member_id)
            ORDER BY incarnation, generation, cause_seq
        ) AS story_before
    FROM rebalance_causes
    WHERE event_time IS NOT NULL
),
numbered AS (
    SELECT
        *,
        SUM(CASE WHEN event_time <= time_before + INTERVAL '1' MINUTE THEN 0 ELSE 1 END) OVER (
            PARTITION BY cluster_id, group_id ORDER BY event_time, who
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS deploy
    FROM (
        SELECT
            *,
            LAG(event_time) OVER (
                PARTITION BY cluster_id, group_id ORDER BY event_time, who
            ) AS time_before
        FROM events
        WHERE story = 'restart' OR story = 'return' AND story_before = 'restart'
    ) AS restarts
),
deploys AS (
    SELECT
        cluster_id, group_id, deploy,
        COUNT(DISTINCT CASE WHEN story = 'restart' THEN who END) AS processes,
        MIN(event_time) AS first_time, MAX(event_time) AS last_time
    FROM numbered
    GROUP BY cluster_id, group_id, deploy
    HAVING COUNT(DISTINCT CASE WHEN story = 'restart' THEN who END) >= 2
)
SELECT
    d.cluster_id,                   -- cluster
    d.group_id,                     -- consumer group
    d.first_time AS start_time,     -- the first process went
    GREATEST(d.last_time, MAX(r.end_time)) AS end_time, -- the last one was back, and its rebalance over
    d.processes,                    -- processes restarted
    COUNT(r.generation) AS generations, -- rebalances begun between the two, superseded ones included
    COALESCE(SUM(r.total_ms), 0) AS not_stable_ms, -- ms in them
    COALESCE(SUM(r.partitions_moved), 0) AS partitions_moved, -- partitions that went to another process
    COALESCE(SUM(r.unavailable_partition_ms), 0) AS unavailable_partition_ms, -- ms that nobody had partitions for rebalances, summed over partitions, at most
    COALESCE(SUM(r.offset_rewinds), 0) AS offset_rewinds, -- commits of a lower offset than before: duplicates
    COALESCE(SUM(r.reconsumed_records), 0) AS reconsumed_records -- records consumed again by these
FROM deploys d
LEFT JOIN q10_each_rebalance r
    ON r.cluster_id = d.cluster_id AND r.group_id = d.group_id
    -- What begins a rebalance is said just before it or just after it.
    AND r.start_time >= d.first_time - INTERVAL '1' SECOND
    AND r.start_time <= d.last_time + INTERVAL '1' SECOND
GROUP BY d.cluster_id, d.group_id, d.deploy, d.first_time, d.last_time, d.processes
