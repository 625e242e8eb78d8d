-- q15_lifecycle: state of each group: with members, empty (with the time of expiry), or deleted.
WITH incarnations AS (
    SELECT
        cluster_id, group_id, incarnation,
        MIN(from_time) AS created_time, COUNT(*) AS generations,
        MAX_BY(outcome, generation) AS last_outcome,
        MAX_BY(running_time, generation) AS last_running,
        MAX(CASE WHEN evidence IN ('records', 'both') THEN 0 END) AS recorded_zero
    FROM generation_spans
    GROUP BY cluster_id, group_id, incarnation
),
deletions AS (
    SELECT
        cluster_id, group_id, incarnation,
        COALESCE(MAX(CASE WHEN event <> 'ADMIN_DELETE' THEN event_time END), MAX(event_time)) AS deleted_time
    FROM timeline
    WHERE event IN ('TOMBSTONE', 'GROUP_DEAD', 'ADMIN_DELETE')
    GROUP BY cluster_id, group_id, incarnation
),
last_incarnations AS (
    SELECT cluster_id, group_id, MAX(incarnation) AS incarnation
    FROM incarnations
    GROUP BY cluster_id, group_id
),
tombstones AS (
    SELECT cluster_id, group_id, COUNT(*) AS group_tombstones
    FROM (
        SELECT cluster_id, group_id FROM group_metadata WHERE tombstone
        UNION ALL
        SELECT cluster_id, group_id
        FROM group_records
        WHERE tombstone
            AND record IN ('ConsumerGroupMetadata', 'ShareGroupMetadata', 'StreamsGroupMetadata')
    ) AS deleted
    GROUP BY cluster_id, group_id
),
commits AS (
    SELECT
        cluster_id, group_id,
        SUM(CASE WHEN tombstone THEN 1 ELSE 0 END) AS offset_tombstones,
        MAX(CASE WHEN NOT tombstone THEN commit_time END) AS last_commit_time,
        0 AS recorded_zero
    FROM committed_offsets
    GROUP BY cluster_id, group_id
)
SELECT
    COALESCE(v.cluster_id, c.cluster_id) AS cluster_id, -- cluster
    COALESCE(v.group_id, c.group_id) AS group_id, -- consumer group
    v.incarnation AS incarnations,  -- number of the last incarnation; null for a group without generations that only commits
    v.created_time,                 -- first event of the last incarnation
    v.generations,                  -- generations of the last incarnation with evidence
    CASE
        WHEN v.incarnation IS NULL THEN 'commits only'
        WHEN d.deleted_time >= v.last_running THEN 'dead'
        WHEN v.last_outcome = 'empty' THEN 'empty'
        ELSE 'members'
    END AS state,                   -- members, empty, dead (deleted or expired), or commits only (no member ever joined)
    CASE WHEN v.last_outcome = 'empty' THEN v.last_running END AS empty_since, -- time at which the group became empty
    CASE WHEN d.deleted_time >= v.last_running THEN d.deleted_time END AS deleted_time, -- time of the group's deletion
    c.last_commit_time,             -- time of the last commit
    -- KIP-211: a group's offsets expire offsets.retention.minutes after it became empty.
    CASE
        WHEN v.incarnation IS NULL THEN c.last_commit_time + INTERVAL '7' DAY
        WHEN v.last_outcome = 'empty' AND (d.deleted_time IS NULL OR d.deleted_time < v.last_running)
            THEN v.last_running + INTERVAL '7' DAY
    END AS expires_time,            -- time at which the group expires with its offsets unless a member joins: after 7 days, the default of offsets.retention.minutes since Kafka 2.0
    COALESCE(t.group_tombstones, v.recorded_zero, c.recorded_zero) AS group_tombstones, -- tombstones of the group, including the tombstone of a conversion to another type; null without records
    COALESCE(c.offset_tombstones, v.recorded_zero) AS offset_tombstones -- tombstones of the group's offsets; null without records
FROM (
    SELECT l.* FROM incarnations l
    JOIN last_incarnations s
        ON s.cluster_id = l.cluster_id AND s.group_id = l.group_id
        AND s.incarnation = l.incarnation
) AS v
FULL JOIN commits c ON c.cluster_id = v.cluster_id AND c.group_id = v.group_id
LEFT JOIN deletions d
    ON d.cluster_id = v.cluster_id AND d.group_id = v.group_id AND d.incarnation = v.incarnation
LEFT JOIN tombstones t
    ON t.cluster_id = COALESCE(v.cluster_id, c.cluster_id)
    AND t.group_id = COALESCE(v.group_id, c.group_id)
ORDER BY cluster_id, group_id
