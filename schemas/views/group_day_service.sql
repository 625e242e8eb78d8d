-- group_day_service: how much of a group's partition time was served on each date, and what rebalances cost the data. The dates are the dates with commits in the cluster.
WITH assigned AS (
    SELECT cluster_id, group_id, incarnation, generation, COUNT(*) AS partitions
    FROM (
        SELECT DISTINCT cluster_id, group_id, incarnation, generation, topic, partition
        FROM assignments
        WHERE assignor = 'actual' AND (role IS NULL OR role = 'active')
    ) AS a
    GROUP BY cluster_id, group_id, incarnation, generation
),
spans AS (
    SELECT
        s.cluster_id, s.group_id, COALESCE(a.partitions, 0) AS partitions,
        UNIX_MILLIS(s.running_time) AS from_ms,
        LEAD(UNIX_MILLIS(s.running_time), 1, UNIX_MILLIS(s.to_time)) OVER (
            PARTITION BY s.cluster_id, s.group_id ORDER BY s.incarnation, s.generation
        ) AS to_ms
    FROM generation_spans s
    LEFT JOIN assigned a
        ON a.cluster_id = s.cluster_id AND a.group_id = s.group_id
        AND a.incarnation = s.incarnation AND a.generation = s.generation
    WHERE a.partitions IS NOT NULL OR s.outcome = 'empty'
),
dates AS (
    SELECT
        cluster_id, event_date,
        UNIX_MILLIS(CAST(event_date AS TIMESTAMP)) AS begin_ms,
        UNIX_MILLIS(CAST(event_date AS TIMESTAMP)) + 86400000 AS end_ms
    FROM (SELECT DISTINCT cluster_id, event_date FROM committed_offsets) AS d
),
days AS (
    SELECT
        s.cluster_id, s.group_id, d.event_date, d.begin_ms, d.end_ms,
        SUM(s.partitions * (LEAST(s.to_ms, d.end_ms) - GREATEST(s.from_ms, d.begin_ms))) AS partition_ms
    FROM spans s
    JOIN dates d ON d.cluster_id = s.cluster_id AND s.from_ms < d.end_ms AND s.to_ms > d.begin_ms
    GROUP BY s.cluster_id, s.group_id, d.event_date, d.begin_ms, d.end_ms
),
gaps AS (
    SELECT
        cluster_id, group_id, unowned_ms, UNIX_MILLIS(from_time) + unowned_ms AS until_ms,
        COALESCE(unowned_ms_low, unowned_ms) AS low_ms,
        COALESCE(unowned_ms_high, unowned_ms) AS high_ms
    FROM ownership_gaps
),
unowned AS (
    SELECT
        d.cluster_id, d.group_id, d.event_date,
        SUM(GREATEST(LEAST(g.until_ms, d.end_ms)
            - GREATEST(g.until_ms - g.unowned_ms, d.begin_ms), 0)) AS unowned_ms,
        SUM(GREATEST(LEAST(g.until_ms, d.end_ms)
            - GREATEST(g.until_ms - g.low_ms, d.begin_ms), 0)) AS low_ms,
        SUM(GREATEST(LEAST(g.until_ms, d.end_ms)
            - GREATEST(g.until_ms - g.high_ms, d.begin_ms), 0)) AS high_ms
    FROM gaps g
    JOIN days d
        ON d.cluster_id = g.cluster_id AND d.group_id = g.group_id
        AND g.until_ms - g.high_ms < d.end_ms AND g.until_ms > d.begin_ms
    GROUP BY d.cluster_id, d.group_id, d.event_date
),
unserved AS (
    SELECT cluster_id, group_id, event_date, SUM(unserved_ms) AS unserved_ms
    FROM unserved_times
    WHERE reason <> 'no_progress'
    GROUP BY cluster_id, group_id, event_date
),
costs AS (
    SELECT
        cluster_id, group_id, event_date,
        SUM(records_reprocessed) AS records_reprocessed,
        SUM(records_reprocessed_low) AS records_reprocessed_low,
        SUM(records_reprocessed_high) AS records_reprocessed_high,
        MAX(catch_up_ms) AS longest_catch_up_ms
    FROM handover_costs
    GROUP BY cluster_id, group_id, event_date
)
SELECT
    d.cluster_id,                   -- cluster
    d.group_id,                     -- consumer group
    d.event_date,                   -- UTC date
    d.partition_ms,                 -- ms for which the group had partitions to consume, summed over partitions
    COALESCE(u.unowned_ms, 0) AS unowned_ms, -- ms without an owner, summed over partitions (ownership_gaps)
    COALESCE(u.low_ms, 0) AS unowned_ms_low, -- lower limit of unowned_ms, see ownership_gaps
    COALESCE(u.high_ms, 0) AS unowned_ms_high, -- upper limit of unowned_ms, see ownership_gaps
    COALESCE(n.unserved_ms, 0) AS unserved_ms, -- ms with an owner that did not handle waiting records (unserved_times), except times with reason no_progress, for which it is unknown whether records waited
    CASE
        WHEN d.partition_ms > 0 THEN ROUND(
            100 * CAST(
                GREATEST(d.partition_ms - COALESCE(u.unowned_ms, 0) - COALESCE(n.unserved_ms, 0), 0)
                AS DOUBLE) / d.partition_ms, 4)
    END AS served_percent,          -- share of partition_ms that was owned and served; null if the group had no partitions
    c.records_reprocessed,          -- records handled again, estimated (handover_costs); null without commits
    c.records_reprocessed_low,      -- lower limit of records_reprocessed
    c.records_reprocessed_high,     -- upper limit of records_reprocessed, if all are bounded
    c.longest_catch_up_ms           -- longest time from the stop of an owner until its partition had caught up; null without log end offsets
FROM days d
LEFT JOIN unowned u
    ON u.cluster_id = d.cluster_id AND u.group_id = d.group_id AND u.event_date = d.event_date
LEFT JOIN unserved n
    ON n.cluster_id = d.cluster_id AND n.group_id = d.group_id AND n.event_date = d.event_date
LEFT JOIN costs c
    ON c.cluster_id = d.cluster_id AND c.group_id = d.group_id AND c.event_date = d.event_date
