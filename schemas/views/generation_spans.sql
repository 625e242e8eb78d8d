-- generation_spans: the time span of each generation, from the start of its rebalance to the start of the next rebalance.
SELECT
    g.cluster_id,                   -- cluster
    g.group_id,                     -- consumer group
    g.incarnation,                  -- incarnation of the group
    g.generation,                   -- generation
    g.event_date,                   -- UTC date of the generation
    g.from_time,                   -- start of the rebalance; without a log the end of the join phase
    g.running_time,                 -- end of the rebalance: assignment received, group empty, or superseded
    COALESCE(g.ended_time, g.next_time, o.last_time) AS to_time, -- start of the next rebalance or deletion of the group; for the current generation the cluster's last time in the lake
    g.outcome,                      -- stable, empty, superseded, failed or unknown
    g.cause,                        -- cause class
    g.protocol,                     -- assignor chosen by the members' votes; modern groups: server assignor
    c.rebalances,                   -- 1 if the generation counts as a rebalance, else 0, as in rebalance_counts
    c.aborted_rebalances,           -- 1 if the generation is an aborted rebalance, else 0, as in rebalance_counts
    c.superseded_targets,           -- 1 if the target was superseded, else 0, as in rebalance_counts
    g.evidence,                     -- records, log or both; clients if only clients' logs show the generation
    g.total_ms,                     -- ms not Stable; null without a log
    CASE
        WHEN g.outcome = 'empty' THEN COALESCE(g.total_ms, 0)
        ELSE UNIX_MILLIS(COALESCE(g.ended_time, g.next_time, o.last_time)) - UNIX_MILLIS(g.from_time)
    END AS with_members_ms          -- ms from from_time to to_time in which the group had members or members were joining, excluding the time in Empty
FROM (
    SELECT
        s.*,
        LEAD(s.from_time) OVER (
            PARTITION BY s.cluster_id, s.group_id ORDER BY s.incarnation, s.generation
        ) AS next_time
    FROM (
        SELECT
            g.cluster_id, g.group_id, g.incarnation, g.generation, g.event_date, g.ended_time,
            g.outcome, g.cause, g.protocol, g.evidence, l.total_ms,
            COALESCE(g.preparing_time, g.joined_time, g.stable_time) AS from_time,
            COALESCE(l.to_time, g.stable_time, g.joined_time, g.preparing_time) AS running_time
        FROM generations g
        LEFT JOIN rebalance_latency l
            ON l.cluster_id = g.cluster_id AND l.group_id = g.group_id
            AND l.incarnation = g.incarnation AND l.generation = g.generation
    ) AS s
) AS g
JOIN rebalance_counts c
    ON c.cluster_id = g.cluster_id AND c.group_id = g.group_id
    AND c.incarnation = g.incarnation AND c.generation = g.generation
LEFT JOIN observed_spans o ON o.cluster_id = g.cluster_id
