-- q09_coordinator_changes: when a group's coordinator was loaded or given up, and whether rebalances followed.
WITH lines AS (
    SELECT
        cluster_id, topic_partition, broker_id, event, file_id, position, duration_ms,
        event_time AS end_time,
        LAG(event) OVER (
            PARTITION BY cluster_id, topic_partition, broker_id
            ORDER BY event_time, file_id, position
        ) AS event_before
    FROM broker_log_events
    WHERE topic_partition IS NOT NULL
        -- Of a load's lines only the last one says how long it took.
        AND (event = 'PARTITION_LOAD' AND duration_ms IS NOT NULL OR event = 'PARTITION_UNLOAD')
),
turns AS (
    SELECT cluster_id, topic_partition, broker_id, event, end_time AS change_time, duration_ms AS load_ms
    FROM lines
    -- Of an unload's lines the first one.
    WHERE event = 'PARTITION_LOAD' OR event_before IS DISTINCT FROM event
),
changes AS (
    SELECT
        *,
        MAX(CASE WHEN event = 'PARTITION_LOAD' THEN loads END) OVER (
            PARTITION BY cluster_id, topic_partition ORDER BY change_time, broker_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS loads_before
    FROM (
        SELECT
            *,
            SUM(CASE WHEN event = 'PARTITION_LOAD' THEN 1 ELSE 0 END) OVER (
                PARTITION BY cluster_id, topic_partition ORDER BY change_time, broker_id
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS loads
        FROM turns
    ) AS counted
),
-- Lives of groups, by the log that their records lie in.
lives AS (
    SELECT
        cluster_id, group_id, incarnation,
        MIN(start_time) AS born, MAX(running_time) AS last_rebalance
    FROM generation_spans
    GROUP BY cluster_id, group_id, incarnation
),
homes AS (
    SELECT cluster_id, group_id, incarnation, MAX(topic_partition) AS topic_partition
    FROM generations
    GROUP BY cluster_id, group_id, incarnation
),
deaths AS (
    SELECT cluster_id, group_id, incarnation, MAX(event_time) AS died
    FROM timeline
    WHERE event IN ('TOMBSTONE', 'GROUP_DEAD')
    GROUP BY cluster_id, group_id, incarnation
)
SELECT
    c.cluster_id,                   -- cluster
    v.group_id,                     -- consumer group
    v.incarnation,                  -- life of the group
    c.topic_partition,              -- log that its records lie in
    CASE WHEN c.event = 'PARTITION_LOAD' THEN 'loaded' ELSE 'unloaded' END AS change, -- loaded (a broker becomes its coordinator) or unloaded (a broker is it no more)
    c.change_time,                  -- when: the load was over, the unload began
    c.broker_id,                    -- which broker
    b.broker_id AS previous_broker_id,   -- of a load: the broker that loaded it before; null if no log says
    c.load_ms,                      -- of a load: ms it took, as the broker says
    COUNT(s.generation) AS rebalances_within_5_min, -- rebalances of the group that began in the 5 minutes after
    MIN(s.start_time) AS next_rebalance_time, -- start of the first of them
    MIN_BY(s.cause, s.start_time) AS next_cause -- its cause class
FROM changes c
JOIN homes h ON h.cluster_id = c.cluster_id AND h.topic_partition = c.topic_partition
JOIN lives v
    ON v.cluster_id = h.cluster_id AND v.group_id = h.group_id AND v.incarnation = h.incarnation
    AND c.change_time >= v.born
LEFT JOIN deaths d
    ON d.cluster_id = v.cluster_id AND d.group_id = v.group_id AND d.incarnation = v.incarnation
LEFT JOIN changes b
    ON b.cluster_id = c.cluster_id AND b.topic_partition = c.topic_partition
    AND b.event = 'PARTITION_LOAD' AND b.loads = c.loads_before AND c.event = 'PARTITION_LOAD'
LEFT JOIN generation_spans s
    ON s.cluster_id = v.cluster_id AND s.group_id = v.group_id AND s.incarnation = v.incarnation
    AND s.start_time >= c.change_time AND s.start_time < c.change_time + INTERVAL '5' MINUTE
WHERE d.died IS NULL OR c.change_time <= d.died
GROUP BY
    c.cluster_id, v.group_id, v.incarnation, c.topic_partition, c.event, c.change_time,
    c.broker_id, b.broker_id, c.load_ms
