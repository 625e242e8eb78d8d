-- snapshot_groups: each group in its newest snapshot, and the time since which the group has been in the same state.
WITH numbered AS (
    SELECT
        *,
        ROW_NUMBER() OVER (PARTITION BY cluster_id, group_id ORDER BY snapshot_time DESC) AS number,
        MAX(snapshot_time) OVER (PARTITION BY cluster_id) AS newest_time
    FROM group_snapshots
),
spans AS (
    SELECT cluster_id, group_id, MAX(generation) AS generation, MAX(not_after_time) AS since_time
    FROM snapshot_generations
    GROUP BY cluster_id, group_id
)
SELECT
    n.cluster_id,                   -- cluster
    n.group_id,                     -- group
    n.group_type,                   -- classic or consumer; null for share and streams groups, and if unknown
    n.protocol_type,                -- consumer, connect, ...
    n.state,                        -- state of the group; null if the group was not described
    n.protocol,                     -- assignor
    n.member_count,                 -- members
    n.coordinator_id,               -- broker id of the coordinator
    n.described_time,               -- time at which the group was in this state
    n.snapshot_time = n.newest_time AS is_in_newest, -- true if the cluster's newest snapshot has the group; false if it was deleted, or is no longer listed
    s.generation,                   -- last generation of the group in snapshot_generations
    s.since_time,                   -- first snapshot with this generation
    n.error                         -- reason why the group was not described; null if it was described
FROM numbered n
LEFT JOIN spans s ON s.cluster_id = n.cluster_id AND s.group_id = n.group_id
WHERE n.number = 1
ORDER BY n.cluster_id, n.group_id
