-- q07_storms: rebalance storms: five or more generations in a row with pauses below 60 s; the view storms has other limits.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    from_time,                     -- start of the first rebalance
    to_time,                       -- end of the last rebalance
    UNIX_MILLIS(to_time) - UNIX_MILLIS(from_time) AS lasted_ms, -- ms from from_time to to_time
    first_generation,               -- first generation of the storm
    last_generation,                -- last generation of the storm
    generations,                    -- generations of the storm: rebalances, aborted rebalances, and generations that left the group empty
    rebalances,                     -- rebalances among these generations, as in q01_most_rebalanced_groups
    aborted_rebalances,             -- aborted rebalances among these generations
    superseded_targets,             -- superseded targets among the rebalances
    not_stable_ms,                  -- ms in rebalances; null without a log
    dominant_cause,                 -- most frequent cause class of the rebalances
    dominant_percent,               -- share of rebalances with this cause
    culprits                        -- processes that triggered the rebalances: one process for a flapping process, many for a deployment
FROM storms
WHERE pause_below_ms = 60000 AND generations >= 5
ORDER BY cluster_id, not_stable_ms DESC NULLS LAST, group_id, from_time
