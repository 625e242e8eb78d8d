-- episode_figures: one row per episode: its kind, size and figures.
SELECT cluster_id, group_id, kind, SIZE(processes) AS processes,
    UNIX_MILLIS(from_time) AS from_ms, UNIX_MILLIS(to_time) AS to_ms,
    rebalances, not_stable_ms, partitions_moved AS moved_partitions,
    unowned_partition_ms AS unavailable_partition_ms
FROM episodes
