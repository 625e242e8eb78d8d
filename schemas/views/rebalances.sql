-- rebalances: each rebalance with its cause, duration, churn and movement, one row a generation.
SELECT
    g.cluster_id,                   -- cluster
    g.group_id,                     -- consumer group
    g.incarnation,                  -- life of the group
    g.generation,                   -- generation the rebalance made
    l.preparing_time,               -- when it began; null without a log
    l.end_time,                     -- assignment received, group empty, or the next rebalance took over
    g.outcome,                      -- stable, empty, superseded, failed or unknown
    g.cause,                        -- why: cause class
    t.story,                        -- what the process did that began it
    COALESCE(t.instance_id, g.culprit_client_id) AS culprit, -- who began it: instance id, else client id
    g.culprit_client_host,          -- address of that member, where a record names it
    g.member_count,                 -- members when the join completed
    l.join_ms,                      -- ms waiting for everybody to join; null without a log
    l.sync_ms,                      -- ms waiting for the leader's assignment
    l.total_ms,                     -- both: ms not Stable; null without a log
    l.logical_rebalance,            -- generation that began the logical rebalance it belongs to
    l.round,                        -- 1 for the first rebalance of the logical one, 2 for the next, ...
    c.members_joined,               -- member ids seen for the first time
    c.members_left,                 -- members that left explicitly; null without a log
    c.members_expired,              -- members whose session expired; null without a log
    c.members_dropped,              -- members removed for not rejoining or not syncing in time; null without a log
    c.members_replaced,             -- static members that came back under a new member id
    c.partitions_moved,             -- partitions that went to another process; null without records
    c.partitions_orphaned,          -- partitions owned before and by nobody now; null without records
    c.partitions_new,               -- partitions that never had an owner before; null without records
    c.moves_forced,                 -- moves that no assignment could avoid; null without records
    g.gap_before,                   -- generations right before it that left no trace
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
