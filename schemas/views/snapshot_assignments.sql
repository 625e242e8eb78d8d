-- snapshot_assignments: one row per partition assigned to a member in a generation of snapshot_generations.
WITH listed AS (
    SELECT g.cluster_id, g.group_id, g.generation, EXPLODE(s.members) AS member
    FROM snapshot_generations g
    JOIN group_snapshots s
        ON s.cluster_id = g.cluster_id AND s.group_id = g.group_id AND s.snapshot_time = g.snapshot_time
),
of_topics AS (
    SELECT
        cluster_id, group_id, generation, member.member_id AS member_id,
        COALESCE(member.instance_id, member.member_id) AS identity, EXPLODE(member.assigned) AS assigned
    FROM listed
),
of_partitions AS (
    SELECT
        cluster_id, group_id, generation, member_id, identity, assigned.topic AS topic,
        EXPLODE(assigned.partitions) AS partition
    FROM of_topics
),
compared AS (
    SELECT
        *,
        LAG(generation) OVER of_partition AS previous_generation,
        LAG(member_id) OVER of_partition AS previous_member_id,
        LAG(identity) OVER of_partition AS previous_identity
    FROM of_partitions
    WINDOW of_partition AS (PARTITION BY cluster_id, group_id, topic, partition ORDER BY generation, identity)
)
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- group
    generation,                     -- generation in snapshot_generations
    member_id,                      -- member that the partition is assigned to
    topic,                          -- topic
    partition,                      -- partition
    CASE WHEN previous_generation = generation - 1 THEN previous_member_id END AS previous_member_id, -- member to which the partition was assigned in the previous generation; null if it was assigned to no member
    previous_generation = generation - 1 AND previous_identity <> identity AS moved, -- true if another member (of another instance id) had the partition in the previous generation; null if it was not assigned before
    'snapshot' AS evidence          -- snapshot
FROM compared
ORDER BY cluster_id, group_id, generation, topic, partition
