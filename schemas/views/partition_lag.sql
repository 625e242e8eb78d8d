-- partition_lag: lag of each group and partition over time: at each commit, and at each row of end_offsets in between.
WITH ends AS (
    SELECT cluster_id, topic, partition, seen_time, MAX(log_end_offset) AS log_end_offset
    FROM end_offsets
    GROUP BY cluster_id, topic, partition, seen_time
),
commits AS (
    SELECT
        cluster_id, group_id, topic, partition, COALESCE(append_time, commit_time) AS at_time,
        log_offset, committed_offset
    FROM committed_offsets
    WHERE outcome IN ('plain', 'committed') AND COALESCE(append_time, commit_time) IS NOT NULL
),
moments AS (
    SELECT
        cluster_id, group_id, topic, partition, at_time, 1 AS commits, 0 AS sightings, log_offset,
        committed_offset, CAST(NULL AS BIGINT) AS log_end_offset, CAST(NULL AS TIMESTAMP) AS seen_time
    FROM commits
    UNION ALL
    SELECT
        e.cluster_id, c.group_id, e.topic, e.partition, e.seen_time AS at_time, 0 AS commits,
        1 AS sightings, -1 AS log_offset, CAST(NULL AS BIGINT) AS committed_offset,
        e.log_end_offset, e.seen_time
    FROM ends e
    JOIN (SELECT DISTINCT cluster_id, group_id, topic, partition FROM commits) AS c
        ON c.cluster_id = e.cluster_id AND c.topic = e.topic AND c.partition = e.partition
),
-- Each time has the number of the newest previous commit and sighting, and of the next sighting.
numbered AS (
    SELECT
        *,
        SUM(commits) OVER (
            PARTITION BY cluster_id, group_id, topic, partition
            ORDER BY at_time, commits, log_offset
        ) AS commit_number,
        SUM(sightings) OVER (
            PARTITION BY cluster_id, group_id, topic, partition
            ORDER BY at_time, commits, log_offset
        ) AS sighting_number,
        SUM(sightings) OVER (
            PARTITION BY cluster_id, group_id, topic, partition
            ORDER BY at_time DESC, commits, log_offset DESC
        ) AS number_from_end
    FROM moments
),
beside AS (
    SELECT
        cluster_id, group_id, topic, partition, at_time, commits, log_offset,
        MAX(committed_offset) OVER (
            PARTITION BY cluster_id, group_id, topic, partition, commit_number
        ) AS committed_offset,
        MAX(log_end_offset) OVER (
            PARTITION BY cluster_id, group_id, topic, partition, sighting_number
        ) AS end_before,
        MAX(seen_time) OVER (
            PARTITION BY cluster_id, group_id, topic, partition, sighting_number
        ) AS before_time,
        MAX(log_end_offset) OVER (
            PARTITION BY cluster_id, group_id, topic, partition, number_from_end
        ) AS end_after,
        MAX(seen_time) OVER (
            PARTITION BY cluster_id, group_id, topic, partition, number_from_end
        ) AS after_time
    FROM numbered
),
linear AS (
    SELECT
        *,
        CASE
            WHEN UNIX_MILLIS(after_time) > UNIX_MILLIS(before_time) THEN
                end_before + CAST(ROUND(
                    CAST(end_after - end_before AS DOUBLE)
                    * (UNIX_MILLIS(at_time) - UNIX_MILLIS(before_time))
                    / (UNIX_MILLIS(after_time) - UNIX_MILLIS(before_time))
                ) AS BIGINT)
            WHEN before_time IS NOT NULL AND after_time IS NOT NULL THEN end_before
        END AS end_between
    FROM beside
    WHERE committed_offset IS NOT NULL
),
estimated AS (
    SELECT
        *,
        CASE WHEN end_between < committed_offset THEN committed_offset ELSE end_between
        END AS log_end_offset
    FROM linear
)
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- group
    topic,                          -- topic
    partition,                      -- partition
    at_time,                        -- time of the commit or of the sighting
    commits = 1 AS is_commit,       -- true if the group committed at this time; false if a log end offset was seen
    committed_offset,               -- newest committed offset at that time
    log_end_offset,                 -- log end offset at this time: interpolated linearly between the previous and the next sighting, and at least the committed offset; null without a previous or a next sighting
    log_end_offset - committed_offset AS lag, -- lag then
    CASE WHEN end_before > committed_offset THEN end_before - committed_offset
        WHEN end_before IS NOT NULL THEN 0 END AS lag_low, -- lowest possible lag, computed with the log end offset of the previous sighting; null without a previous sighting
    CASE WHEN end_after > committed_offset THEN end_after - committed_offset
        WHEN end_after IS NOT NULL THEN 0 END AS lag_high, -- highest possible lag, computed with the log end offset of the next sighting; null without a next sighting
    before_time AS seen_before_time, -- time of the last sighting up to this time
    after_time AS seen_after_time   -- time of the first sighting from this time on
FROM estimated
ORDER BY cluster_id, group_id, topic, partition, at_time, commits, log_offset
