-- generation_spans: from when to when each generation was the group's last, its rebalance included.
SELECT
    g.cluster_id,                   -- cluster
    g.group_id,                     -- consumer group
    g.incarnation,                  -- life of the group
    g.generation,                   -- generation
    g.event_date,                   -- UTC date of the generation
    g.start_time,                   -- its rebalance began; without a log the join barrier fell
    g.running_time,                 -- its rebalance was over: assignment received, group empty, or superseded
    COALESCE(g.ended_time, g.next_time, o.last_time) AS until_time, -- the next rebalance began or the group died; while it lasts, the last the lake knows of the cluster
    g.outcome,                      -- stable, empty, superseded, failed or unknown
    g.cause,                        -- why: cause class
    g.protocol,                     -- assignor chosen by the vote
    g.total_ms                      -- ms not Stable; null without a log
FROM (
    SELECT
        s.*,
        LEAD(s.start_time) OVER (
            PARTITION BY s.cluster_id, s.group_id ORDER BY s.incarnation, s.generation
        ) AS next_time
    FROM (
        SELECT
            g.cluster_id, g.group_id, g.incarnation, g.generation, g.event_date, g.ended_time,
            g.outcome, g.cause, g.protocol, l.total_ms,
            COALESCE(g.preparing_time, g.joined_time, g.stable_time) AS start_time,
            COALESCE(l.end_time, g.stable_time, g.joined_time, g.preparing_time) AS running_time
        FROM generations g
        LEFT JOIN rebalance_latency l
            ON l.cluster_id = g.cluster_id AND l.group_id = g.group_id
            AND l.incarnation = g.incarnation AND l.generation = g.generation
    ) AS s
) AS g
LEFT JOIN observed_spans o ON o.cluster_id = g.cluster_id
