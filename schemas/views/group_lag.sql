-- group_lag: each group's lag now: newest log end offset minus newest committed offset, over its partitions.
WITH commits AS (
    SELECT
        cluster_id, group_id, topic, partition, COALESCE(append_time, commit_time) AS commit_time,
        committed_offset,
        ROW_NUMBER() OVER (
            PARTITION BY cluster_id, group_id, topic, partition
            ORDER BY COALESCE(append_time, commit_time) DESC, log_offset DESC
        ) AS number
    FROM committed_offsets
    WHERE outcome IN ('plain', 'committed')
),
ends AS (
    SELECT
        cluster_id, topic, partition, seen_time, log_end_offset,
        ROW_NUMBER() OVER (
            PARTITION BY cluster_id, topic, partition ORDER BY seen_time DESC, log_end_offset DESC
        ) AS number
    FROM end_offsets
),
lags AS (
    SELECT
        c.cluster_id, c.group_id, c.topic, c.partition, c.commit_time, e.seen_time,
        CASE WHEN e.log_end_offset > c.committed_offset
            THEN e.log_end_offset - c.committed_offset
            WHEN e.log_end_offset IS NOT NULL THEN 0
        END AS lag
    FROM commits c
    LEFT JOIN ends e
        ON e.cluster_id = c.cluster_id AND e.topic = c.topic AND e.partition = c.partition
        AND e.number = 1
    WHERE c.number = 1 AND c.committed_offset IS NOT NULL
),
ranked AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY cluster_id, group_id
            ORDER BY COALESCE(lag, -1) DESC, topic, partition
        ) AS place
    FROM lags
)
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- group
    SUM(lag) AS lag,                -- records between the committed and the log end offsets, for all partitions whose log end offset was seen; null without such a partition
    MAX(lag) AS max_lag,            -- highest lag of a partition
    MAX(CASE WHEN place = 1 AND lag > 0 THEN topic || '-' || partition END) AS max_lag_partition, -- partition with the highest lag, as topic-partition; null without lag
    COUNT(*) AS partitions,         -- partitions with a committed offset
    COUNT(CASE WHEN lag > 0 THEN 1 END) AS lagging_partitions, -- partitions with lag
    COUNT(*) - COUNT(lag) AS unknown_partitions, -- partitions without a log end offset
    MIN(seen_time) AS seen_time,    -- oldest of the newest sightings, which limits the age of the lag
    MAX(commit_time) AS last_commit_time -- newest commit
FROM ranked
GROUP BY cluster_id, group_id
ORDER BY lag DESC NULLS LAST, cluster_id, group_id
