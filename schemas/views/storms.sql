-- storms: three or more generations in a row with pauses below 10 s, 60 s and 5 min.
SELECT
    r.cluster_id,                   -- cluster
    r.group_id,                     -- consumer group
    r.pause_below_ms,               -- pauses within the storm are shorter than this
    r.storm,                        -- number of the storm in the group's history, per pause_below_ms
    MIN(r.from_time) AS from_time, -- start of the first rebalance
    MAX(r.running_time) AS to_time, -- end of the last rebalance
    MIN(r.incarnation) AS first_incarnation, -- incarnation of the group in which the storm began
    MIN_BY(r.generation, r.place) AS first_generation, -- first generation of the storm
    MAX_BY(r.generation, r.place) AS last_generation, -- last generation of the storm
    COUNT(*) AS generations,        -- generations of the storm: rebalances, aborted rebalances, and generations that left the group empty
    SUM(r.rebalances) AS rebalances, -- rebalances as docs/metrics.md defines them; null if only clients' logs show them, without an outcome
    SUM(r.aborted_rebalances) AS aborted_rebalances, -- aborted rebalances as docs/metrics.md defines them, not among rebalances; null where rebalances is null
    SUM(r.superseded_targets) AS superseded_targets, -- superseded targets among the rebalances, as docs/metrics.md defines them; null if only logs show them
    MAX(CASE WHEN r.pause_ms < r.pause_below_ms THEN r.pause_ms END) AS longest_pause_ms, -- longest pause between two rebalances of the storm
    SUM(r.total_ms) AS not_stable_ms, -- ms in rebalances; null without a log
    MAX_BY(r.cause, r.weight) AS dominant_cause, -- most frequent cause class of the rebalances
    CASE WHEN COUNT(r.cause) > 0 THEN ROUND(100 * MAX(r.times) / COUNT(*), 1) END AS dominant_percent, -- share of rebalances with this cause; null without a cause
    CASE WHEN COUNT(r.cause) > 0 THEN COUNT(DISTINCT r.culprit) END AS culprits -- processes that triggered the rebalances: one process for a flapping process, many for a deployment
FROM (
    SELECT
        n.*,
        COUNT(n.cause) OVER (
            PARTITION BY n.cluster_id, n.group_id, n.pause_below_ms, n.storm, n.cause
        ) AS times,
        -- This is the first of equally frequent causes.
        1000000 * COUNT(n.cause) OVER (
            PARTITION BY n.cluster_id, n.group_id, n.pause_below_ms, n.storm, n.cause
        ) - MIN(n.place) OVER (
            PARTITION BY n.cluster_id, n.group_id, n.pause_below_ms, n.storm, n.cause
        ) AS weight
    FROM (
        SELECT
            p.*,
            t.pause_below_ms,
            SUM(CASE WHEN p.pause_ms < t.pause_below_ms THEN 0 ELSE 1 END) OVER (
                PARTITION BY p.cluster_id, p.group_id, t.pause_below_ms ORDER BY p.place
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS storm
        FROM (
            SELECT
                s.*,
                r.culprit,
                ROW_NUMBER() OVER (
                    PARTITION BY s.cluster_id, s.group_id ORDER BY s.incarnation, s.generation
                ) AS place,
                UNIX_MILLIS(s.from_time) - UNIX_MILLIS(LAG(s.running_time) OVER (
                    PARTITION BY s.cluster_id, s.group_id ORDER BY s.incarnation, s.generation
                )) AS pause_ms
            FROM generation_spans s
            LEFT JOIN rebalances r
                ON r.cluster_id = s.cluster_id AND r.group_id = s.group_id
                AND r.incarnation = s.incarnation AND r.generation = s.generation
        ) AS p
        CROSS JOIN (VALUES (10000), (60000), (300000)) AS t(pause_below_ms)
    ) AS n
) AS r
GROUP BY r.cluster_id, r.group_id, r.pause_below_ms, r.storm
HAVING COUNT(*) >= 3
