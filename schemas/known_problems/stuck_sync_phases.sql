-- stuck_sync_phases: one row per classic generation whose members had joined and received no assignment for ten minutes. The duration is limited to a day after the join.
WITH stuck AS (
    SELECT
        g.*, UNIX_MILLIS(g.joined_time) AS joined_ms,
        LEAST(COALESCE(UNIX_MILLIS(g.ended_time), u.until_ms), UNIX_MILLIS(g.joined_time) + 86400000)
            AS until_ms
    FROM generations g
    CROSS JOIN (SELECT MAX(UNIX_MILLIS(event_time)) AS until_ms FROM group_events) u
    WHERE g.joined_time IS NOT NULL AND g.stable_time IS NULL AND g.member_count > 0
        AND g.evidence = 'log' AND (g.group_type IS NULL OR g.group_type = 'classic')
        AND g.outcome IN ('superseded', 'unknown')
)
SELECT
    group_id, incarnation, generation, member_count, joined_time AS from_time,
    CASE WHEN UNIX_MILLIS(ended_time) = until_ms THEN ended_time END AS to_time,
    CAST(FLOOR((until_ms - joined_ms) / 1000) AS BIGINT) AS seconds
FROM stuck
WHERE until_ms - joined_ms >= 600000
