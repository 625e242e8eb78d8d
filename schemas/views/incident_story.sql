-- incident_story: everything that happened to a group in order: its rebalances, and what made no rebalance.
SELECT
    t.cluster_id,                   -- cluster
    t.group_id,                     -- consumer group
    t.incarnation,                  -- life of the group
    t.generation,                   -- generation the rebalance made
    t.cause_seq,                    -- 1 for its first cause, in order
    t.event_time,                   -- when it happened
    t.role,                         -- trigger, contributing, or absorbed (it made no rebalance)
    t.cause,                        -- cause class
    t.story,                        -- what the process did
    COALESCE(t.instance_id, t.client_id, t.member_id) AS who, -- instance id, else client id, else member id
    t.evidence AS cause_evidence,   -- log, records or commits
    r.outcome,                      -- stable, empty, superseded, failed or unknown
    r.member_count,                 -- members when the join completed
    r.join_ms,                      -- ms waiting for everybody to join; null without a log
    r.sync_ms,                      -- ms waiting for the leader's assignment
    r.members_joined,               -- member ids seen for the first time
    r.members_left,                 -- members that left explicitly
    r.members_expired,              -- members whose session expired
    r.members_replaced,             -- static members that came back under a new member id
    r.partitions_moved,             -- partitions that went to another process
    r.moves_forced,                 -- moves that no assignment could avoid
    r.partitions_orphaned,          -- partitions owned before and by nobody now
    r.partitions_new                -- partitions that never had an owner before
FROM rebalance_causes t
JOIN rebalances r
    ON r.cluster_id = t.cluster_id AND r.group_id = t.group_id
    AND r.incarnation = t.incarnation AND r.generation = t.generation
