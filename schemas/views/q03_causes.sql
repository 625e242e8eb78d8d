-- q03_causes: why groups rebalanced: what began rebalances, by cause class and by what the processes did.
SELECT
    t.cluster_id,                   -- cluster
    t.group_id,                     -- consumer group
    t.cause,                        -- cause class: MEMBER_NEW, LEAVE, LEAVE_POLL_TIMEOUT, HEARTBEAT_EXPIRY, ...
    t.story,                        -- what the process did: restart, slow_poll, crash, ...; null where it cannot be told
    COUNT(*) AS rebalances,         -- rebalances it began, superseded and empty ones included
    ROUND(100 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY t.cluster_id, t.group_id), 1) AS percent, -- of the group's
    SUM(l.total_ms) AS not_stable_ms -- ms not Stable in them; null without a log
FROM rebalance_causes t
LEFT JOIN rebalance_latency l
    ON l.cluster_id = t.cluster_id AND l.group_id = t.group_id
    AND l.incarnation = t.incarnation AND l.generation = t.generation
WHERE t.role = 'trigger'
GROUP BY t.cluster_id, t.group_id, t.cause, t.story
