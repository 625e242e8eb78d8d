-- rebalances: each rebalance with its cause, duration, churn and movement, one row a generation.
SELECT
    g.cluster_id,
    g.group_id,
    g.incarnation,
    g.generation,
    l.preparing_time,
    l.end_time,
    g.outcome,
    g.cause,
    t.story,
    COALESCE(t.instance_id, g.culprit_client_id) AS culprit,
    g.culprit_client_host,
    g.member_count,
    l.join_ms,
    l.sync_ms,
    l.total_ms,
    l.logical_rebalance,
    l.round,
    c.members_joined,
    c.members_left,
    c.members_expired,
    c.members_dropped,
    c.members_replaced,
    c.partitions_moved,
    c.partitions_orphaned,
    c.partitions_new,
    c.moves_forced,
    g.gap_before,
    g.evidence
FROM generations g
LEFT JOIN rebalance_latency l
    ON l.cluster_id = g.cluster_id AND l.group_id = g.group_id
    AND l.incarnation = g.incarnation AND l.generation = g.generation
LEFT JOIN churn c
    ON c.cluster_id = g.cluster_id AND c.group_id = g.group_id
    AND c.incarnation = g.incarnation AND c.generation = g.generation
LEFT JOIN rebalance_causes t
    ON t.cluster_id = g.cluster_id AND t.group_id = g.group_id
    AND t.incarnation = g.incarnation AND t.generation = g.generation
    AND t.cause_seq = 1 AND t.role = 'trigger'
