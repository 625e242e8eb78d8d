-- episode_costs: episodes with their cost: partition downtime, unserved time, and the records handled again, pauses and lag of their rebalances. Order by place: the costliest episode of the cluster is first.
WITH generations_of AS (
    SELECT cluster_id, group_id, incarnation, activity_time, episode, EXPLODE(generations) AS generation
    FROM episodes
)
SELECT
    e.cluster_id,                   -- cluster
    e.group_id,                     -- consumer group
    e.incarnation,                  -- incarnation of the group
    e.activity_time,                -- start of the activity, see episodes
    e.episode,                      -- number of the episode within the activity
    e.event_date,                   -- UTC date of the first event
    e.kind,                         -- root cause, see episodes
    e.from_time,                    -- start
    e.to_time,                      -- end of the last rebalance, or the last event
    e.processes,                    -- processes started, stopped, restarted or removed, see episodes
    e.hosts,                        -- addresses of these processes
    e.first_generation,             -- first generation; without rebalances, the current generation
    e.last_generation,              -- last generation
    e.generations,                  -- generations formed by the episode's rebalances
    e.rebalances,                   -- rebalances as docs/metrics.md defines them
    e.not_stable_ms,                -- ms not Stable; null without a log
    e.rebalances_without_begin,     -- rebalances whose begin no line shows; if it is not 0, not_stable_ms and unowned_partition_ms are lower limits
    e.partitions_moved,             -- partitions whose owner changed to another process; null without records
    e.unowned_partition_ms,         -- partition downtime in ms, summed over partitions; null without records
    COALESCE(e.unowned_partition_ms_low, e.unowned_partition_ms) AS unowned_partition_ms_low, -- lower limit of unowned_partition_ms, see ownership_gaps
    COALESCE(e.unowned_partition_ms_high, e.unowned_partition_ms) AS unowned_partition_ms_high, -- upper limit of unowned_partition_ms, see ownership_gaps
    u.unserved_partition_ms,        -- ms in which owners did not serve their partitions, see episode_unserved; null if owners served them all the time
    u.cost_ms,                      -- ms without an owner or not served, summed over partitions; null if both are unknown
    ROW_NUMBER() OVER (
        PARTITION BY e.cluster_id
        ORDER BY
            CASE WHEN e.kind IN ('group_start', 'shutdown', 'group_deleted') THEN 1 ELSE 0 END,
            u.cost_ms DESC NULLS LAST, e.not_stable_ms DESC NULLS LAST, e.rebalances DESC,
            e.from_time, e.group_id, e.episode
    ) AS place,                     -- rank of the episode in the cluster, by cost_ms, not_stable_ms and rebalances; 1 is the costliest; starts, shutdowns and deletions of groups are last
    c.handovers,                    -- tenures of partitions that the episode's rebalances ended; null if they ended none
    c.records_reprocessed,          -- records that the next owners handle again, estimated; null without commits
    c.records_reprocessed_low,      -- lower limit of records_reprocessed
    c.records_reprocessed_high,     -- upper limit of records_reprocessed, if bounded
    c.bounded,                      -- false if a process whose session had expired returned, which may have handled more records
    c.consumption_pause_ms,         -- ms without a consumed record, summed over partitions; null without commits
    c.longest_pause_ms,             -- longest pause of one partition
    c.record_seconds,               -- lag integrated over the handovers, in records times seconds; null without log end offsets
    c.catch_up_ms,                  -- ms until the last partition had caught up; null without log end offsets
    e.evidence,                     -- evidence for the root cause
    e.confidence,                   -- confidence that the kind is right, 0 to 1
    e.summary,                      -- the episode in one sentence, see episodes
    e.summary
    || CASE WHEN u.unserved_partition_ms >= 500
        THEN ', ' || CAST(ROUND(u.unserved_partition_ms / 1000) AS BIGINT) || ' partition-seconds owned but not served'
        ELSE '' END
    || CASE WHEN ROUND(c.records_reprocessed) = 1 THEN ', 1 record handled again'
        WHEN ROUND(c.records_reprocessed) > 1
        THEN ', ' || CAST(ROUND(c.records_reprocessed) AS BIGINT) || ' records handled again'
        ELSE '' END AS text         -- summary, unserved time and records handled again in one sentence
FROM episodes e
LEFT JOIN episode_unserved u
    ON u.cluster_id = e.cluster_id AND u.group_id = e.group_id AND u.incarnation = e.incarnation
    AND u.activity_time = e.activity_time AND u.episode = e.episode
LEFT JOIN (
    SELECT
        g.cluster_id, g.group_id, g.incarnation, g.activity_time, g.episode,
        SUM(r.handovers) AS handovers,
        SUM(r.records_reprocessed) AS records_reprocessed,
        SUM(r.records_reprocessed_low) AS records_reprocessed_low,
        SUM(r.records_reprocessed_high) AS records_reprocessed_high,
        MIN(CASE WHEN r.bounded THEN 1 ELSE 0 END) = 1 AS bounded,
        SUM(r.consumption_pause_ms) AS consumption_pause_ms,
        MAX(r.longest_pause_ms) AS longest_pause_ms,
        SUM(r.record_seconds) AS record_seconds,
        MAX(r.catch_up_ms) AS catch_up_ms
    FROM generations_of g
    JOIN rebalance_costs r
        ON r.cluster_id = g.cluster_id AND r.group_id = g.group_id
        AND r.incarnation = g.incarnation AND r.generation = g.generation
    GROUP BY g.cluster_id, g.group_id, g.incarnation, g.activity_time, g.episode
) c
    ON c.cluster_id = e.cluster_id AND c.group_id = e.group_id AND c.incarnation = e.incarnation
    AND c.activity_time = e.activity_time AND c.episode = e.episode
