-- q04_offenders: the clients and hosts that triggered the most rebalances.
SELECT
    t.cluster_id,                   -- cluster
    t.group_id,                     -- consumer group
    COALESCE(t.instance_id, t.client_id, t.member_id) AS culprit, -- instance id, else client id, else member id
    t.client_host,                  -- address, if a record or a line has it
    COUNT(*) AS rebalances_started, -- rebalances that the culprit triggered
    COUNT(DISTINCT t.member_id) AS member_ids, -- member ids of the culprit in these rebalances
    SUM(CASE WHEN t.cause = 'SESSION_EXPIRY' THEN 1 ELSE 0 END) AS expiries, -- rebalances that the culprit triggered because its session expired
    SUM(CASE WHEN t.story = 'slow_poll' THEN 1 ELSE 0 END) AS slow_polls, -- rebalances that the culprit triggered because it exceeded max.poll.interval.ms
    SUM(CASE WHEN t.story = 'restart' THEN 1 ELSE 0 END) AS restarts, -- rebalances that the culprit triggered because it left and returned within a minute
    SUM(l.total_ms) AS not_stable_ms -- ms not Stable in these rebalances; null without a log
FROM rebalance_causes t
LEFT JOIN rebalance_latency l
    ON l.cluster_id = t.cluster_id AND l.group_id = t.group_id
    AND l.incarnation = t.incarnation AND l.generation = t.generation
WHERE t.role = 'trigger'
GROUP BY t.cluster_id, t.group_id, COALESCE(t.instance_id, t.client_id, t.member_id), t.client_host
ORDER BY cluster_id, rebalances_started DESC, group_id, culprit, client_host
