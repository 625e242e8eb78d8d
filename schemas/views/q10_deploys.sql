-- q10_deploys: deployments: two or more processes of a group restarted within a minute of each other, and their cost.
WITH actions AS (
    SELECT
        cluster_id, group_id, event_time, story,
        COALESCE(instance_id, client_id, member_id) AS process,
        LAG(story) OVER (
            PARTITION BY cluster_id, group_id, COALESCE(instance_id, client_id, member_id)
            ORDER BY incarnation, generation, cause_seq
        ) AS previous_story
    FROM rebalance_causes
    WHERE event_time IS NOT NULL
),
numbered AS (
    SELECT
        *,
        SUM(CASE WHEN event_time <= previous_time + INTERVAL '1' MINUTE THEN 0 ELSE 1 END) OVER (
            PARTITION BY cluster_id, group_id ORDER BY event_time, process
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS deploy
    FROM (
        SELECT
            *,
            LAG(event_time) OVER (
                PARTITION BY cluster_id, group_id ORDER BY event_time, process
            ) AS previous_time
        FROM actions
        WHERE story = 'restart' OR story = 'return' AND previous_story = 'restart'
    ) AS restarts
),
deploys AS (
    SELECT
        cluster_id, group_id, deploy,
        COUNT(DISTINCT CASE WHEN story = 'restart' THEN process END) AS processes,
        MIN(event_time) AS first_time, MAX(event_time) AS last_time
    FROM numbered
    GROUP BY cluster_id, group_id, deploy
    HAVING COUNT(DISTINCT CASE WHEN story = 'restart' THEN process END) >= 2
),
costs AS (
    SELECT
        d.cluster_id, d.group_id, d.deploy, d.processes,
        d.first_time AS from_time,
        GREATEST(d.last_time, COALESCE(MAX(r.to_time), d.last_time)) AS to_time,
        COUNT(r.generation) AS generations,
        CASE WHEN COUNT(r.generation) = 0 THEN 0 ELSE SUM(r.total_ms) END AS not_stable_ms,
        CASE WHEN COUNT(r.generation) = 0 THEN 0 ELSE SUM(r.partitions_moved) END AS partitions_moved,
        CASE WHEN COUNT(r.generation) = 0 THEN 0 ELSE SUM(r.offset_rewinds) END AS offset_rewinds,
        CASE WHEN COUNT(r.generation) = 0 THEN 0 ELSE SUM(r.reconsumed_records) END AS reconsumed_records
    FROM deploys d
    LEFT JOIN q10_each_rebalance r
        ON r.cluster_id = d.cluster_id AND r.group_id = d.group_id
        -- The trigger is logged just before or just after the start of the rebalance.
        AND r.from_time >= d.first_time - INTERVAL '1' SECOND
        AND r.from_time <= d.last_time + INTERVAL '1' SECOND
    GROUP BY d.cluster_id, d.group_id, d.deploy, d.first_time, d.last_time, d.processes
),
recorded AS (
    SELECT DISTINCT cluster_id, group_id, 0 AS recorded_zero
    FROM generations
    WHERE evidence IN ('records', 'both')
),
downtime AS (
    SELECT
        c.cluster_id, c.group_id, c.deploy, SUM(g.unowned_ms) AS unowned_ms,
        SUM(COALESCE(g.unowned_ms_low, g.unowned_ms)) AS low_ms,
        SUM(COALESCE(g.unowned_ms_high, g.unowned_ms)) AS high_ms
    FROM costs c
    JOIN ownership_gaps g
        ON g.cluster_id = c.cluster_id AND g.group_id = c.group_id
        AND g.from_time <= c.to_time AND (g.to_time >= c.from_time OR g.to_time IS NULL)
    GROUP BY c.cluster_id, c.group_id, c.deploy
)
SELECT
    c.cluster_id,                   -- cluster
    c.group_id,                     -- consumer group
    c.from_time,                   -- departure of the first process
    c.to_time,                     -- time at which the last process had returned and its rebalance had ended
    c.processes,                    -- restarted processes
    c.generations,                  -- rebalances that began in this time, including superseded rebalances
    c.not_stable_ms,                -- ms in these rebalances; null without a log
    c.partitions_moved,             -- partitions whose owner changed to another process; null without records
    COALESCE(d.unowned_ms, n.recorded_zero) AS unowned_partition_ms, -- partition downtime in ms: the gaps of ownership_gaps within or across this time; null without records
    COALESCE(d.low_ms, n.recorded_zero) AS unowned_partition_ms_low, -- lower limit of unowned_partition_ms, see ownership_gaps
    COALESCE(d.high_ms, n.recorded_zero) AS unowned_partition_ms_high, -- upper limit of unowned_partition_ms, see ownership_gaps
    c.offset_rewinds,               -- commits that went back to a lower offset; null without records
    c.reconsumed_records            -- records consumed again after these commits; null without records
FROM costs c
LEFT JOIN recorded n ON n.cluster_id = c.cluster_id AND n.group_id = c.group_id
LEFT JOIN downtime d
    ON d.cluster_id = c.cluster_id AND d.group_id = c.group_id AND d.deploy = c.deploy
ORDER BY cluster_id, group_id, from_time
