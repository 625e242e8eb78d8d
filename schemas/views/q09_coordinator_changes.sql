-- q09_coordinator_changes: loading and unloading of a group's coordinator, and the rebalances that followed.
WITH lines AS (
    SELECT
        cluster_id, topic_partition, broker_id, event, file_id, position, duration_ms,
        event_time AS end_time,
        LAG(event) OVER (
            PARTITION BY cluster_id, topic_partition, broker_id
            ORDER BY event_time, file_id, position
        ) AS previous_event
    FROM broker_log_events
    WHERE topic_partition IS NOT NULL
        -- Only the last line of a load has its duration.
        AND (event = 'PARTITION_LOAD' AND duration_ms IS NOT NULL OR event = 'PARTITION_UNLOAD')
),
turns AS (
    SELECT cluster_id, topic_partition, broker_id, event, end_time AS change_time, duration_ms AS load_ms
    FROM lines
    -- Keep only the first line of an unload.
    WHERE event = 'PARTITION_LOAD' OR previous_event IS DISTINCT FROM event
),
changes AS (
    SELECT
        *,
        MAX(CASE WHEN event = 'PARTITION_LOAD' THEN place END) OVER w AS load_before,
        MAX(CASE WHEN event = 'PARTITION_UNLOAD' THEN place END) OVER w AS unload_before
    FROM (
        SELECT
            *,
            ROW_NUMBER() OVER (
                PARTITION BY cluster_id, topic_partition ORDER BY change_time, broker_id, event
            ) AS place
        FROM turns
    ) AS numbered
    WINDOW w AS (
        PARTITION BY cluster_id, topic_partition ORDER BY place
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
-- Incarnations of groups with their creation times, which are null before the evidence.
incarnations AS (
    SELECT
        cluster_id, group_id, incarnation,
        CASE WHEN incarnation > 1 OR MIN(generation) = 1 THEN MIN(from_time) END AS created
    FROM generation_spans
    GROUP BY cluster_id, group_id, incarnation
),
homes AS (
    SELECT cluster_id, group_id, incarnation, MAX(topic_partition) AS topic_partition
    FROM generations
    GROUP BY cluster_id, group_id, incarnation
),
deletions AS (
    SELECT cluster_id, group_id, incarnation, MAX(event_time) AS deleted
    FROM timeline
    WHERE event IN ('TOMBSTONE', 'GROUP_DEAD', 'ADMIN_DELETE')
    GROUP BY cluster_id, group_id, incarnation
)
SELECT
    c.cluster_id,                   -- cluster
    v.group_id,                     -- consumer group
    v.incarnation,                  -- incarnation of the group
    c.topic_partition,              -- partition of __consumer_offsets of the group
    CASE WHEN c.event = 'PARTITION_LOAD' THEN 'loaded' ELSE 'unloaded' END AS change, -- loaded (a broker becomes coordinator) or unloaded (a broker stops being coordinator)
    c.change_time,                  -- end of the load, or start of the unload
    c.broker_id,                    -- broker that loaded or unloaded the group
    COALESCE(b.broker_id, u.broker_id) AS previous_broker_id, -- broker of the previous load, else of the previous unload (loads only); null if neither is logged
    c.load_ms,                      -- duration of the load in ms, as logged (loads only)
    COUNT(s.generation) AS rebalances_within_5_min, -- rebalances of the group that began within 5 minutes after the change
    MIN(s.from_time) AS next_rebalance_time, -- start of the first rebalance that followed
    MIN_BY(s.cause, s.from_time) AS next_cause -- cause class of the first rebalance that followed
FROM changes c
JOIN homes h ON h.cluster_id = c.cluster_id AND h.topic_partition = c.topic_partition
JOIN incarnations v
    ON v.cluster_id = h.cluster_id AND v.group_id = h.group_id AND v.incarnation = h.incarnation
    AND (v.created IS NULL OR c.change_time >= v.created)
LEFT JOIN deletions d
    ON d.cluster_id = v.cluster_id AND d.group_id = v.group_id AND d.incarnation = v.incarnation
LEFT JOIN changes b
    ON b.cluster_id = c.cluster_id AND b.topic_partition = c.topic_partition
    AND b.place = c.load_before AND c.event = 'PARTITION_LOAD'
LEFT JOIN changes u
    ON u.cluster_id = c.cluster_id AND u.topic_partition = c.topic_partition
    AND u.place = c.unload_before AND c.event = 'PARTITION_LOAD'
LEFT JOIN generation_spans s
    ON s.cluster_id = v.cluster_id AND s.group_id = v.group_id AND s.incarnation = v.incarnation
    AND s.from_time >= c.change_time AND s.from_time < c.change_time + INTERVAL '5' MINUTE
WHERE d.deleted IS NULL OR c.change_time <= d.deleted
GROUP BY
    c.cluster_id, v.group_id, v.incarnation, c.topic_partition, c.event, c.change_time,
    c.broker_id, COALESCE(b.broker_id, u.broker_id), c.load_ms
ORDER BY cluster_id, group_id, change_time
