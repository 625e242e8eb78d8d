-- causes: one row per cause of a rebalance that has a time.
SELECT
    cluster_id, group_id, incarnation, generation, cause_seq, UNIX_MILLIS(event_time) AS at_ms,
    role, cause, story, member_id, instance_id, client_id, client_host, process, client_reason,
    evidence, session_timeout_ms, rebalance_timeout_ms
FROM rebalance_causes
WHERE event_time IS NOT NULL
