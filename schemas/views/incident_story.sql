-- incident_story: everything that happened to a group in order: its rebalances, and what made no rebalance.
SELECT
    t.cluster_id,
    t.group_id,
    t.incarnation,
    t.generation,
    t.cause_seq,
    t.event_time,
    t.role,
    t.cause,
    t.story,
    COALESCE(t.instance_id, t.client_id, t.member_id) AS who,
    t.evidence AS cause_evidence,
    g.outcome,
    g.member_count,
    l.join_ms,
    l.sync_ms,
    c.members_joined,
    c.members_left,
    c.members_expired,
    c.members_replaced,
    c.partitions_moved,
    c.moves_forced,
    c.partitions_orphaned,
    c.partitions_new
FROM rebalance_causes t
JOIN generations g
    ON g.cluster_id = t.cluster_id AND g.group_id = t.group_id
    AND g.incarnation = t.incarnation AND g.generation = t.generation
LEFT JOIN rebalance_latency l
    ON l.cluster_id = g.cluster_id AND l.group_id = g.group_id
    AND l.incarnation = g.incarnation AND l.generation = g.generation
LEFT JOIN churn c
    ON c.cluster_id = g.cluster_id AND c.group_id = g.group_id
    AND c.incarnation = g.incarnation AND c.generation = g.generation
