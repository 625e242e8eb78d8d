-- snapshot_rebalances: what changed from one generation of snapshot_generations to the next.
-- At least one rebalance took place between the two generations; there may have been several.
WITH of_members AS (
    SELECT
        cluster_id, group_id, generation,
        SUM(CASE WHEN change = 'joined' THEN 1 ELSE 0 END) AS joined,
        SUM(CASE WHEN change = 'replaced' THEN 1 ELSE 0 END) AS replaced,
        SUM(CASE WHEN change = 'retained' THEN 1 ELSE 0 END) AS retained,
        SUM(CASE WHEN gone THEN 1 ELSE 0 END) AS gone
    FROM snapshot_members
    GROUP BY cluster_id, group_id, generation
),
of_partitions AS (
    SELECT cluster_id, group_id, generation, SUM(CASE WHEN moved THEN 1 ELSE 0 END) AS moved
    FROM snapshot_assignments
    GROUP BY cluster_id, group_id, generation
)
SELECT
    g.cluster_id,                   -- cluster
    g.group_id,                     -- group
    g.generation,                   -- generation after the rebalance
    g.group_type,                   -- classic or consumer
    g.protocol,                     -- assignor
    g.outcome,                      -- stable or empty
    g.member_count,                 -- members after it
    g.not_before_time,              -- last snapshot before the rebalance began
    g.not_after_time,               -- first snapshot after the rebalance was over
    g.met_snapshots,                -- number of snapshots during the rebalance
    g.total_ms_min,                 -- lower limit of the duration in ms; null if fewer than two snapshots met the rebalance
    g.total_ms_max,                 -- upper limit of the duration in ms
    CAST(COALESCE(m.joined, 0) AS INT) AS members_joined, -- members that the previous generation did not have
    CAST(COALESCE(b.gone, 0) AS INT) AS members_gone, -- members of the previous generation that this generation does not have
    CAST(COALESCE(m.replaced, 0) AS INT) AS members_replaced, -- static members that have another member id than before
    CAST(COALESCE(m.retained, 0) AS INT) AS members_retained, -- members of both
    CAST(COALESCE(p.moved, 0) AS INT) AS partitions_moved, -- partitions that another member had in the previous generation
    g.evidence                      -- snapshot
FROM snapshot_generations g
LEFT JOIN of_members m
    ON m.cluster_id = g.cluster_id AND m.group_id = g.group_id AND m.generation = g.generation
LEFT JOIN of_members b
    ON b.cluster_id = g.cluster_id AND b.group_id = g.group_id AND b.generation = g.generation - 1
LEFT JOIN of_partitions p
    ON p.cluster_id = g.cluster_id AND p.group_id = g.group_id AND p.generation = g.generation
WHERE g.generation > 1
ORDER BY g.cluster_id, g.group_id, g.generation
