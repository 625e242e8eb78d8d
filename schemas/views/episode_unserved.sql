-- episode_unserved: how long owned partitions with records were not served during each episode (table unserved_times), beside its partition downtime. Rank slow polls and frozen processes by cost_ms, the sum of unserved time and downtime.
WITH stretches AS (
    SELECT
        cluster_id, group_id, incarnation, topic, partition, process, reason, unserved_ms,
        UNIX_MILLIS(from_time) AS from_ms, UNIX_MILLIS(to_time) AS to_ms
    FROM unserved_times
    WHERE reason <> 'no_progress'
),
matched AS (
    SELECT
        s.*, e.activity_time, e.episode,
        ROW_NUMBER() OVER (
            PARTITION BY s.cluster_id, s.group_id, s.incarnation, s.topic, s.partition, s.from_ms
            ORDER BY
                CASE
                    WHEN s.reason = 'slow_poll' AND e.kind = 'slow_poll' THEN 0
                    WHEN s.reason = 'frozen' AND e.kind IN ('process_frozen', 'process_lost_or_frozen') THEN 0
                    WHEN e.kind IN ('flapping_member', 'process_lost', 'process_lost_or_frozen', 'host_lost') THEN 1
                    ELSE 2
                END,
                CASE
                    WHEN ARRAY_CONTAINS(e.processes, s.process) THEN 0
                    WHEN ARRAY_CONTAINS(e.processes, REGEXP_EXTRACT(s.process, '^[^@]*', 0)) THEN 0
                    ELSE 1
                END,
                LEAST(s.to_ms, UNIX_MILLIS(e.to_time)) - GREATEST(s.from_ms, UNIX_MILLIS(e.from_time)) DESC,
                e.activity_time, e.episode
        ) AS place
    FROM stretches s
    JOIN episodes e
        ON e.cluster_id = s.cluster_id AND e.group_id = s.group_id
        AND e.incarnation = s.incarnation
        AND UNIX_MILLIS(e.from_time) < s.to_ms AND UNIX_MILLIS(e.to_time) > s.from_ms
    WHERE s.reason IN ('slow_poll', 'frozen', 'owner_stalled')
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
    e.unowned_partition_ms,         -- partition downtime in ms, summed over partitions; null without records
    COALESCE(e.unowned_partition_ms_low, e.unowned_partition_ms) AS unowned_partition_ms_low, -- lower limit of unowned_partition_ms, see ownership_gaps
    COALESCE(e.unowned_partition_ms_high, e.unowned_partition_ms) AS unowned_partition_ms_high, -- upper limit of unowned_partition_ms, see ownership_gaps
    u.unserved_partition_ms,        -- ms in which owners did not serve their partitions, summed over partitions: slow polls, frozen and stalled owners, each in one episode; null if owners served them all the time
    COALESCE(e.unowned_partition_ms + u.unserved_partition_ms, e.unowned_partition_ms, u.unserved_partition_ms) AS cost_ms, -- ms without an owner or not served, summed over partitions; null if both are unknown
    u.longest_unserved_ms,          -- longest unserved time of one partition, in ms
    u.partitions,                   -- partitions concerned
    e.summary                       -- the episode in one sentence
FROM episodes e
LEFT JOIN (
    SELECT
        cluster_id, group_id, incarnation, activity_time, episode,
        SUM(unserved_ms) AS unserved_partition_ms,
        MAX(unserved_ms) AS longest_unserved_ms,
        COUNT(DISTINCT topic || '-' || partition) AS partitions
    FROM matched
    WHERE place = 1
    GROUP BY cluster_id, group_id, incarnation, activity_time, episode
) u
    ON u.cluster_id = e.cluster_id AND u.group_id = e.group_id AND u.incarnation = e.incarnation
    AND u.activity_time = e.activity_time AND u.episode = e.episode
