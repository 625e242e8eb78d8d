-- q04_offenders: which clients and hosts started the most rebalances.
SELECT
    cluster_id,
    group_id,
    COALESCE(instance_id, client_id, member_id) AS culprit,
    client_host,
    COUNT(*) AS rebalances_started,
    COUNT(DISTINCT member_id) AS member_ids,
    SUM(CASE WHEN cause = 'HEARTBEAT_EXPIRY' THEN 1 ELSE 0 END) AS expiries,
    SUM(CASE WHEN story = 'slow_poll' THEN 1 ELSE 0 END) AS slow_polls,
    SUM(CASE WHEN story = 'restart' THEN 1 ELSE 0 END) AS restarts
FROM rebalance_causes
WHERE role = 'trigger'
GROUP BY cluster_id, group_id, COALESCE(instance_id, client_id, member_id), client_host
