-- rebalance_causes: one row per thing that made or fed a rebalance: its trigger, and what else happened before its join barrier fell.
-- Key: (cluster_id, group_id, incarnation, generation, cause_seq)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.rebalance_causes
cluster_id    STRING    NOT NULL COMMENT 'cluster',
group_id      STRING    NOT NULL COMMENT 'consumer group',
incarnation   INT       NOT NULL COMMENT 'life of the group',
generation    INT       NOT NULL COMMENT 'generation the rebalance made; of a static replacement without a rebalance the running one',
cause_seq     INT       NOT NULL COMMENT '1 for the first cause, in order',
event_date    DATE      NOT NULL COMMENT 'UTC date of the generation',
event_time    TIMESTAMP          COMMENT 'when it happened',
role          STRING    NOT NULL COMMENT 'trigger, contributing, or absorbed (it made no rebalance)',
cause         STRING    NOT NULL COMMENT 'cause class: MEMBER_NEW, LEAVE, LEAVE_POLL_TIMEOUT, HEARTBEAT_EXPIRY, LEADER_REJOIN, METADATA_CHANGE, STATIC_UPDATE, STATIC_REPLACED, SYNC_TIMEOUT, STORE_ERROR, ...',
story         STRING             COMMENT 'what the process did. Going: restart (back within a minute), stop, slow_poll (beyond max.poll.interval.ms), crash, stop_or_crash (static: both look alike), slow_rejoin, no_sync. Coming: start, return, restart (static), takeover (static: a second process under a living one''s instance id). Else: follow_up (cooperative round), topic_change, rejoin; null where it cannot be told',
member_id     STRING             COMMENT 'member concerned',
instance_id   STRING             COMMENT 'its group.instance.id',
client_id     STRING             COMMENT 'its client.id, where a record names it',
client_host   STRING             COMMENT 'its address, where a record names it',
reason        STRING             COMMENT 'in the broker''s words',
client_reason STRING             COMMENT 'in the client''s words (KIP-800)',
evidence      STRING    NOT NULL COMMENT 'log (a line says so), records (membership changed) or commits (inferred from commit gaps)'
