-- modern_groups: one row per group that was a consumer, share or streams group.
SELECT cluster_id, group_id
FROM generations
WHERE group_type <> 'classic' AND evidence <> 'clients'
UNION
SELECT cluster_id, group_id FROM group_records
