-- q14_commits_without_owner: commits for partitions without an owner in the group: from outside the group or by a stale generation.
SELECT
    c.cluster_id,                   -- cluster
    c.group_id,                     -- consumer group
    c.incarnation,                  -- incarnation of the group; null before the first generation
    c.generation,                   -- generation running at the time; null before the first generation
    c.topic,                        -- topic
    c.partition,                    -- partition
    CASE
        WHEN c.generation IS NULL THEN 'no generation yet'
        WHEN c.outcome = 'empty' THEN 'group empty'
        WHEN m.from_process IS NOT NULL THEN 'taken away'
        ELSE 'not assigned'
    END AS why,                     -- why the partition had no owner: no generation yet, group empty (a tool or a consumer without a group), taken away (revoked in this generation: a cooperative owner commits once more), not assigned
    m.from_process AS previous_owner, -- owner in the previous generation, if it was revoked
    c.commits,                      -- number of commits
    c.first_time,                   -- time of the first commit
    c.last_time,                    -- time of the last commit
    UNIX_MILLIS(c.last_time) - UNIX_MILLIS(s.running_time) AS last_after_ms -- ms from the generation's assignment to the last commit
FROM commits_by_generation c
LEFT JOIN partition_movement m
    ON m.cluster_id = c.cluster_id AND m.group_id = c.group_id
    AND m.incarnation = c.incarnation AND m.generation = c.generation
    AND m.topic = c.topic AND m.partition = c.partition AND m.change = 'orphaned'
LEFT JOIN generation_spans s
    ON s.cluster_id = c.cluster_id AND s.group_id = c.group_id
    AND s.incarnation = c.incarnation AND s.generation = c.generation
WHERE c.owner IS NULL
ORDER BY cluster_id, group_id, incarnation, generation, topic, partition
