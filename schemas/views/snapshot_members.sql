-- snapshot_members: one row per member and generation of snapshot_generations.
WITH listed AS (
    SELECT
        g.cluster_id, g.group_id, g.generation, s.member_count, EXPLODE(s.members) AS member
    FROM snapshot_generations g
    JOIN group_snapshots s
        ON s.cluster_id = g.cluster_id AND s.group_id = g.group_id AND s.snapshot_time = g.snapshot_time
),
identified AS (
    SELECT
        cluster_id, group_id, generation,
        member.member_id AS member_id, member.instance_id AS instance_id,
        member.client_id AS client_id, member.client_host AS client_host,
        COALESCE(member.instance_id, member.member_id) AS identity
    FROM listed
),
compared AS (
    SELECT
        *,
        LAG(generation) OVER of_member AS previous_generation,
        LAG(member_id) OVER of_member AS previous_member_id,
        LEAD(generation) OVER of_member AS next_generation
    FROM identified
    WINDOW of_member AS (PARTITION BY cluster_id, group_id, identity ORDER BY generation)
),
lasts AS (
    SELECT cluster_id, group_id, MAX(generation) AS last_generation
    FROM snapshot_generations
    GROUP BY cluster_id, group_id
)
SELECT
    c.cluster_id,                   -- cluster
    c.group_id,                     -- group
    c.generation,                   -- generation in snapshot_generations
    c.member_id,                    -- member
    c.instance_id,                  -- group.instance.id of a static member
    c.client_id,                    -- client.id
    c.client_host,                  -- address that the member joined from
    CASE
        WHEN c.generation = 1 THEN NULL
        WHEN c.previous_generation IS NULL OR c.previous_generation < c.generation - 1 THEN 'joined'
        WHEN c.previous_member_id <> c.member_id THEN 'replaced'
        ELSE 'retained'
    END AS change,                  -- joined, retained, or replaced (another member id of an instance); null in the first generation
    c.generation < l.last_generation AND (c.next_generation IS NULL OR c.next_generation > c.generation + 1) AS gone, -- true if the next generation does not have the member; snapshots do not show how it left
    'snapshot' AS evidence          -- snapshot
FROM compared c
JOIN lasts l ON l.cluster_id = c.cluster_id AND l.group_id = c.group_id
ORDER BY c.cluster_id, c.group_id, c.generation, c.member_id
