-- episode_costs: what each episode cost: partition downtime, records handled again, pauses and lag, summed over its rebalances.
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
    e.rebalances,                   -- rebalances that became Stable
    e.unowned_partition_ms,         -- partition downtime in ms, summed over partitions; null without records
    c.handovers,                    -- tenures of partitions that its rebalances ended; null without one
    c.records_reprocessed,          -- records that the next owners handle again, estimated; null without commits
    c.records_reprocessed_low,      -- at least so many
    c.records_reprocessed_high,     -- at most so many, if bounded
    c.bounded,                      -- false if a process whose session had expired was back: it may have handled more
    c.consumption_pause_ms,         -- ms without a consumed record, summed over partitions; null without commits
    c.longest_pause_ms,             -- longest pause of one partition
    c.record_seconds,               -- lag integrated over the handovers, in records times seconds; null without log end offsets
    c.catch_up_ms,                  -- ms until the last partition had caught up; null without log end offsets
    e.summary                       -- the episode in one sentence
FROM episodes e
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
