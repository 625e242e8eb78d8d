-- q07_storms: is it a storm? runs of five and more rebalances with pauses below 60 s; the view storms has other limits.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    start_time,                     -- start of its first rebalance
    end_time,                       -- end of its last one
    UNIX_MILLIS(end_time) - UNIX_MILLIS(start_time) AS lasted_ms, -- ms from the one to the other
    first_generation,               -- its first generation
    last_generation,                -- its last generation
    generations,                    -- rebalances, superseded and empty ones included
    rebalances,                     -- of these: became Stable
    not_stable_ms,                  -- ms in rebalances; null without a log
    dominant_cause,                 -- cause class that began most of them
    dominant_percent,               -- share of them it began
    culprits                        -- processes that began them: one that flaps, or many, as in a deploy
FROM storms
WHERE pause_below_ms = 60000 AND generations >= 5
