-- incident_story: the causes of a group's rebalances in order, with each rebalance's figures, and causes without a rebalance.
SELECT
    t.cluster_id,                   -- cluster
    t.group_id,                     -- consumer group
    t.incarnation,                  -- incarnation of the group
    t.generation,                   -- generation that the rebalance made
    t.cause_seq,                    -- number of the cause, from 1, in order
    t.event_time,                   -- time of the cause
    t.role,                         -- trigger, contributing, or absorbed (caused no rebalance)
    t.cause,                        -- cause class
    t.story,                        -- action of the process
    COALESCE(t.instance_id, t.client_id, t.member_id) AS member, -- instance id, else client id, else member id
    t.evidence AS cause_evidence,   -- log, records or commits
    r.outcome,                      -- stable, empty, superseded, failed or unknown
    r.member_count,                 -- members when the join completed
    r.join_ms,                      -- ms waiting for all members to join; null without a log; modern groups: ms in Assigning
    r.sync_ms,                      -- ms waiting for the leader's assignment; modern groups: ms in Reconciling
    r.members_joined,               -- member ids that appear first in this generation
    r.members_left,                 -- members that left
    r.members_expired,              -- members whose session expired
    r.members_replaced,             -- static members replaced by a new member id
    r.partitions_moved,             -- partitions whose owner changed to another process
    r.moves_forced,                 -- moves that no assignment could avoid
    r.partitions_orphaned,          -- partitions that had an owner before and are unowned now
    r.partitions_new                -- partitions that never had an owner before
FROM rebalance_causes t
JOIN rebalances r
    ON r.cluster_id = t.cluster_id AND r.group_id = t.group_id
    AND r.incarnation = t.incarnation AND r.generation = t.generation
