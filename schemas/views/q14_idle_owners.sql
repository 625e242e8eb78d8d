-- q14_idle_owners: members that had partitions for 10 s and more without commit progress: fallen silent, or with partitions nobody committed for.
WITH given AS (
    SELECT
        s.cluster_id, s.group_id, s.incarnation, s.generation, s.running_time, s.until_time,
        a.process, a.topic, a.partition
    FROM generation_spans s
    JOIN assignments a
        ON a.cluster_id = s.cluster_id AND a.group_id = s.group_id
        AND a.incarnation = s.incarnation AND a.generation = s.generation
        AND a.assignor = 'actual'
    WHERE UNIX_MILLIS(s.until_time) - UNIX_MILLIS(s.running_time) >= 10000
),
owners AS (
    SELECT
        g.cluster_id, g.group_id, g.incarnation, g.generation, g.running_time, g.until_time,
        g.process,
        COUNT(*) AS partitions,
        SUM(CASE WHEN c.commits IS NULL THEN 1 ELSE 0 END) AS partitions_without_commits,
        COALESCE(SUM(c.commits), 0) AS commits,
        MAX(c.last_time) AS last_commit_time
    FROM given g
    LEFT JOIN commits_by_generation c
        ON c.cluster_id = g.cluster_id AND c.group_id = g.group_id
        AND c.incarnation = g.incarnation AND c.generation = g.generation
        AND c.topic = g.topic AND c.partition = g.partition
    GROUP BY
        g.cluster_id, g.group_id, g.incarnation, g.generation, g.running_time, g.until_time,
        g.process
)
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    incarnation,                    -- life of the group
    generation,                     -- generation
    process,                        -- who it is across restarts
    running_time AS since_time,     -- from when it had them
    UNIX_MILLIS(until_time) - UNIX_MILLIS(running_time) AS held_ms, -- for how long, until the next rebalance began
    partitions,                     -- partitions it had
    partitions_without_commits,     -- of these: not committed for until the next generation ran
    commits,                        -- its commits for the others
    last_commit_time,               -- the last of these
    UNIX_MILLIS(until_time) - UNIX_MILLIS(COALESCE(last_commit_time, running_time)) AS without_commit_ms, -- ms from then to the next rebalance
    UNIX_MILLIS(until_time) - UNIX_MILLIS(COALESCE(last_commit_time, running_time)) >= 10000
        AND UNIX_MILLIS(group_last_time) - UNIX_MILLIS(COALESCE(last_commit_time, running_time)) >= 10000
        AS stopped_committing                   -- it fell silent for 10 s and more while others of the group went on: stuck, slow or dead
FROM (
    SELECT
        *,
        MAX(last_commit_time) OVER (
            PARTITION BY cluster_id, group_id, incarnation, generation
        ) AS group_last_time
    FROM owners
) AS o
WHERE group_last_time IS NOT NULL AND (
    partitions_without_commits > 0
    OR UNIX_MILLIS(until_time) - UNIX_MILLIS(last_commit_time) >= 10000
    AND UNIX_MILLIS(group_last_time) - UNIX_MILLIS(last_commit_time) >= 10000
)
