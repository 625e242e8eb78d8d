-- q07_storms: rebalance storms: five or more rebalances in a row with pauses below 60 s; the view storms has other limits.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    start_time,                     -- start of the first rebalance
    end_time,                       -- end of the last rebalance
    UNIX_MILLIS(end_time) - UNIX_MILLIS(start_time) AS lasted_ms, -- ms from start_time to end_time
    first_generation,               -- first generation of the storm
    last_generation,                -- last generation of the storm
    generations,                    -- rebalances, including superseded and empty ones
    rebalances,                     -- rebalances that became Stable
    not_stable_ms,                  -- ms in rebalances; null without a log
    dominant_cause,                 -- most frequent cause class of the rebalances
    dominant_percent,               -- share of rebalances with this cause
    culprits                        -- processes that triggered the rebalances: one that flaps, or many, as in a deployment
FROM storms
WHERE pause_below_ms = 60000 AND generations >= 5
ORDER BY cluster_id, not_stable_ms DESC NULLS LAST, group_id, start_time
