-- rebalances: one row per rebalance with its cause, duration, churn and movement.
SELECT
    g.cluster_id,                   -- cluster
    g.group_id,                     -- consumer group
    g.incarnation,                  -- incarnation of the group
    g.generation,                   -- generation that the rebalance made
    COALESCE(g.group_type, 'classic') AS group_type, -- classic, consumer, share or streams
    l.preparing_time,               -- start of the rebalance; null without a log
    l.to_time,                      -- end of the rebalance: assignment received, group empty, or superseded by the next rebalance
    g.outcome,                      -- stable, empty, superseded, failed or unknown
    g.cause,                        -- cause class
    t.story,                        -- action of the process that triggered the rebalance
    COALESCE(t.instance_id, g.culprit_client_id) AS culprit, -- process that triggered the rebalance: instance id, else client id
    g.culprit_client_host,          -- address of the triggering member, if a record has it
    g.member_count,                 -- members when the join completed
    l.join_ms,                      -- ms waiting for all members to join; null without a log; modern groups: ms in Assigning
    l.sync_ms,                      -- ms waiting for the leader's assignment; modern groups: ms in Reconciling
    l.total_ms,                     -- join_ms + sync_ms: ms not Stable; null without a log
    l.logical_rebalance,            -- first generation of the rebalance's logical rebalance
    l.round,                        -- number of the rebalance within the logical rebalance, from 1
    c.members_joined,               -- member ids that appear first in this generation
    c.members_left,                 -- members that left; null without a log
    c.members_expired,              -- members whose session expired; null without a log
    c.members_dropped,              -- members removed for not rejoining or not syncing in time; null without a log
    c.members_replaced,             -- static members replaced by a new member id
    c.partitions_moved,             -- partitions whose owner changed to another process; null without records
    c.partitions_orphaned,          -- partitions that had an owner before and are unowned now; null without records
    c.partitions_new,               -- partitions that never had an owner before; null without records
    c.moves_forced,                 -- moves that no assignment could avoid; null without records
    g.gap_before,                   -- missing generations right before this generation
    g.evidence                      -- records, log or both
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
