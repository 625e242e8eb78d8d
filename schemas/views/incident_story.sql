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
    r.outcome,
    r.member_count,
    r.join_ms,
    r.sync_ms,
    r.members_joined,
    r.members_left,
    r.members_expired,
    r.members_replaced,
    r.partitions_moved,
    r.moves_forced,
    r.partitions_orphaned,
    r.partitions_new
FROM rebalance_causes t
JOIN rebalances r
    ON r.cluster_id = t.cluster_id AND r.group_id = t.group_id
    AND r.incarnation = t.incarnation AND r.generation = t.generation
