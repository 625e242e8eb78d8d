-- q14_idle_owners: members that owned partitions for at least 10 s without commit progress: they stopped committing, or some partitions have no commits.
WITH owned AS (
    SELECT
        s.cluster_id, s.group_id, s.incarnation, s.generation, s.running_time, s.to_time,
        a.process, a.topic, a.partition
    FROM generation_spans s
    JOIN assignments a
        ON a.cluster_id = s.cluster_id AND a.group_id = s.group_id
        AND a.incarnation = s.incarnation AND a.generation = s.generation
        AND a.assignor = 'actual' AND (a.role IS NULL OR a.role = 'active')
    WHERE UNIX_MILLIS(s.to_time) - UNIX_MILLIS(s.running_time) >= 10000
),
owners AS (
    SELECT
        g.cluster_id, g.group_id, g.incarnation, g.generation, g.running_time, g.to_time,
        g.process,
        COUNT(*) AS partitions,
        SUM(CASE WHEN c.commits IS NULL THEN 1 ELSE 0 END) AS partitions_without_commits,
        COALESCE(SUM(c.commits), 0) AS commits,
        MAX(c.last_time) AS last_commit_time
    FROM owned g
    LEFT JOIN commits_by_generation c
        ON c.cluster_id = g.cluster_id AND c.group_id = g.group_id
        AND c.incarnation = g.incarnation AND c.generation = g.generation
        AND c.topic = g.topic AND c.partition = g.partition
    GROUP BY
        g.cluster_id, g.group_id, g.incarnation, g.generation, g.running_time, g.to_time,
        g.process
)
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    incarnation,                    -- incarnation of the group
    generation,                     -- generation
    process,                        -- process, the same across restarts
    running_time AS since_time,     -- time from which the process owned these partitions
    UNIX_MILLIS(to_time) - UNIX_MILLIS(running_time) AS held_ms, -- ms from since_time to the start of the next rebalance
    partitions,                     -- owned partitions
    partitions_without_commits,     -- owned partitions without a commit until the next generation ran
    commits,                        -- number of commits for the owner's other partitions
    last_commit_time,               -- time of the last of these commits
    UNIX_MILLIS(to_time) - UNIX_MILLIS(COALESCE(last_commit_time, running_time)) AS without_commit_ms, -- ms from the last commit to the next rebalance
    UNIX_MILLIS(to_time) - UNIX_MILLIS(COALESCE(last_commit_time, running_time)) >= 10000
        AND UNIX_MILLIS(group_last_time) - UNIX_MILLIS(COALESCE(last_commit_time, running_time)) >= 10000
        AS stopped_committing                   -- true if there was no commit for at least 10 s while other members of the group committed: the process is stuck, slow or dead
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
    OR UNIX_MILLIS(to_time) - UNIX_MILLIS(last_commit_time) >= 10000
    AND UNIX_MILLIS(group_last_time) - UNIX_MILLIS(last_commit_time) >= 10000
)
ORDER BY cluster_id, held_ms DESC NULLS LAST, group_id, incarnation, generation, process
