-- q04_offenders: which clients and hosts started the most rebalances.
SELECT
    t.cluster_id,                   -- cluster
    t.group_id,                     -- consumer group
    COALESCE(t.instance_id, t.client_id, t.member_id) AS culprit, -- who: instance id, else client id, else member id
    t.client_host,                  -- its address, where a record names it
    COUNT(*) AS rebalances_started, -- rebalances it began
    COUNT(DISTINCT t.member_id) AS member_ids, -- member ids it did so under
    SUM(CASE WHEN t.cause = 'HEARTBEAT_EXPIRY' THEN 1 ELSE 0 END) AS expiries, -- of these: its session expired
    SUM(CASE WHEN t.story = 'slow_poll' THEN 1 ELSE 0 END) AS slow_polls, -- beyond max.poll.interval.ms
    SUM(CASE WHEN t.story = 'restart' THEN 1 ELSE 0 END) AS restarts, -- left, and was back within a minute
    SUM(l.total_ms) AS not_stable_ms -- ms not Stable in the rebalances it began; null without a log
FROM rebalance_causes t
LEFT JOIN rebalance_latency l
    ON l.cluster_id = t.cluster_id AND l.group_id = t.group_id
    AND l.incarnation = t.incarnation AND l.generation = t.generation
WHERE t.role = 'trigger'
GROUP BY t.cluster_id, t.group_id, COALESCE(t.instance_id, t.client_id, t.member_id), t.client_host
