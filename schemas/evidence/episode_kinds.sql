-- episode_kinds: one row per group and kind of episode: how many episodes it had.
SELECT cluster_id, group_id, kind, COUNT(*) AS episodes
FROM episodes GROUP BY cluster_id, group_id, kind
