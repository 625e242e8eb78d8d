-- snapshot_generations: each state of a group between its rebalances, as far as snapshots distinguish the states.
-- Two rebalances between two snapshots count as one rebalance here, and a rebalance that no snapshot met and that moved nothing is missing.
WITH seen AS (
    SELECT
        cluster_id, group_id, snapshot_time, requested_time, described_time, group_type, protocol_type, protocol, state,
        member_count, assignment_hash,
        ROW_NUMBER() OVER (PARTITION BY cluster_id, group_id ORDER BY snapshot_time) AS seq,
        COALESCE(SUM(CASE WHEN state IN ('Stable', 'Empty') THEN 1 ELSE 0 END) OVER (
            PARTITION BY cluster_id, group_id ORDER BY snapshot_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) AS settled_before
    FROM group_snapshots
    WHERE error IS NULL
),
met AS (
    SELECT
        *,
        MIN(CASE WHEN state NOT IN ('Stable', 'Empty', 'Dead') THEN described_time END) OVER interval_before AS met_first_time,
        MAX(CASE WHEN state NOT IN ('Stable', 'Empty', 'Dead') THEN requested_time END) OVER interval_before AS met_last_time,
        CAST(SUM(CASE WHEN state NOT IN ('Stable', 'Empty', 'Dead') THEN 1 ELSE 0 END) OVER interval_before AS INT) AS met_snapshots
    FROM seen
    WINDOW interval_before AS (PARTITION BY cluster_id, group_id, settled_before)
),
settled AS (
    SELECT
        *,
        LAG(seq) OVER of_group AS previous_seq,
        LAG(assignment_hash) OVER of_group AS previous_hash,
        LAG(group_type) OVER of_group AS previous_type,
        LAG(protocol) OVER of_group AS previous_protocol,
        LAG(requested_time) OVER of_group AS previous_time
    FROM met
    WHERE state IN ('Stable', 'Empty')
    WINDOW of_group AS (PARTITION BY cluster_id, group_id ORDER BY snapshot_time)
),
numbered AS (
    SELECT
        *,
        SUM(
            CASE
                WHEN previous_seq = seq - 1 AND previous_hash = assignment_hash AND COALESCE(previous_type, '') = COALESCE(group_type, '')
                    AND COALESCE(previous_protocol, '') = COALESCE(protocol, '') THEN 0
                ELSE 1
            END
        ) OVER (
            PARTITION BY cluster_id, group_id ORDER BY snapshot_time ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS generation
    FROM settled
),
firsts AS (
    SELECT
        *,
        ROW_NUMBER() OVER (PARTITION BY cluster_id, group_id, generation ORDER BY snapshot_time) AS number,
        MAX(described_time) OVER (PARTITION BY cluster_id, group_id, generation) AS last_seen_time,
        COUNT(*) OVER (PARTITION BY cluster_id, group_id, generation) AS snapshots
    FROM numbered
)
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- group
    CAST(generation AS INT) AS generation, -- number within the group's snapshots, from 1; it is not the coordinator's number
    group_type,                     -- classic or consumer
    protocol_type,                  -- consumer, connect, ...; empty for a group that only commits offsets
    protocol,                       -- assignor
    CASE WHEN state = 'Empty' THEN 'empty' ELSE 'stable' END AS outcome, -- stable or empty
    member_count,                   -- members
    CASE WHEN generation > 1 THEN previous_time END AS not_before_time, -- last snapshot with the previous generation, after which the rebalance began; null for the first generation
    described_time AS not_after_time, -- first snapshot with this generation, when the rebalance was over
    CASE WHEN generation > 1 THEN met_snapshots END AS met_snapshots, -- number of snapshots during the rebalance
    CASE
        WHEN generation > 1 AND met_last_time > met_first_time THEN UNIX_MILLIS(met_last_time) - UNIX_MILLIS(met_first_time)
    END AS total_ms_min,            -- lower limit of the rebalance's duration in ms; null if fewer than two snapshots met it
    CASE WHEN generation > 1 THEN UNIX_MILLIS(described_time) - UNIX_MILLIS(previous_time) END AS total_ms_max, -- upper limit of the rebalance's duration in ms
    last_seen_time,                 -- last snapshot with this generation
    CAST(snapshots AS INT) AS snapshots, -- snapshots with this generation
    snapshot_time,                  -- first snapshot with this generation, as in group_snapshots
    'snapshot' AS evidence          -- always snapshot: neither record, log nor client shows the generation
FROM firsts
WHERE number = 1
ORDER BY cluster_id, group_id, generation
