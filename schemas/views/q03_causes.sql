-- q03_causes: why groups rebalanced: triggers by cause class and action of the process.
SELECT
    t.cluster_id,                   -- cluster
    t.group_id,                     -- consumer group
    t.cause,                        -- cause class: MEMBER_NEW, LEAVE, LEAVE_POLL_TIMEOUT, SESSION_EXPIRY, ...
    t.story,                        -- action of the process: restart, slow_poll, session_expired, ...; null if unknown
    COUNT(*) AS generations,        -- generations whose rebalance had this trigger: rebalances, aborted rebalances, and generations that left the group empty
    SUM(c.rebalances) AS rebalances, -- rebalances among these generations, as docs/metrics.md defines them
    ROUND(100 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY t.cluster_id, t.group_id), 1) AS percent, -- share of the group's generations with a known trigger
    SUM(l.total_ms) AS not_stable_ms -- ms not Stable in these rebalances; null without a log
FROM rebalance_causes t
LEFT JOIN rebalance_latency l
    ON l.cluster_id = t.cluster_id AND l.group_id = t.group_id
    AND l.incarnation = t.incarnation AND l.generation = t.generation
LEFT JOIN rebalance_counts c
    ON c.cluster_id = t.cluster_id AND c.group_id = t.group_id
    AND c.incarnation = t.incarnation AND c.generation = t.generation
WHERE t.role = 'trigger'
GROUP BY t.cluster_id, t.group_id, t.cause, t.story
ORDER BY cluster_id, group_id, generations DESC, cause, story
