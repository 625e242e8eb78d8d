-- rebalance_times: one row per generation with a time: begin and end of its rebalance.
SELECT
    cluster_id, group_id, incarnation, generation, outcome,
    UNIX_MILLIS(COALESCE(preparing_time, joined_time, stable_time, ended_time)) AS from_ms,
    UNIX_MILLIS(COALESCE(stable_time, joined_time, ended_time, preparing_time)) AS to_ms
FROM generations
WHERE COALESCE(preparing_time, joined_time, stable_time, ended_time) IS NOT NULL
