-- timeline: one row per event of a group's life, from logs and records, in one order, told apart by incarnation.
-- Key: (cluster_id, group_id, seq)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.timeline
cluster_id         STRING    NOT NULL COMMENT 'cluster',
group_id           STRING    NOT NULL COMMENT 'consumer group',
seq                BIGINT    NOT NULL COMMENT 'order of the group''s events; of a log event its event_seq',
event_date         DATE      NOT NULL COMMENT 'UTC date of event_time',
event_time          TIMESTAMP          COMMENT 'when it happened; null for a record without a time',
incarnation        INT       NOT NULL COMMENT 'life of the group it belongs to',
event               STRING    NOT NULL COMMENT 'event of group_events, or RECORD, RECORD_EMPTY (no members), TOMBSTONE',
event_generation              INT                COMMENT 'generation the group has by this event; of REBALANCE_START the old one; null where the event does not say',
current_generation INT                COMMENT 'generation the group was in, by this event or the last one that says',
forming_generation INT                COMMENT 'generation that a joining, leaving or expiring member helps to form',
member_id          STRING             COMMENT 'member concerned; of RECORD the leader',
instance_id        STRING             COMMENT 'group.instance.id of a static member',
old_member_id      STRING             COMMENT 'member id that a static member had before it was replaced',
step               STRING             COMMENT 'of a MEMBER_JOIN: id_required, direct or pending; of a LEFT: pending if it had not joined yet',
reason             STRING             COMMENT 'in the broker''s words',
client_reason      STRING             COMMENT 'in the client''s words (KIP-800)',
cause              STRING             COMMENT 'cause class of the reason',
client_cause       STRING             COMMENT 'class of the client reason',
member_count       INT                COMMENT 'members, where the event counts them',
members            ARRAY<STRING>      COMMENT 'members the event lists; of RECORD all of them',
topic_partition    STRING             COMMENT 'of a record: the log it lies in',
log_offset         BIGINT             COMMENT 'of a record: its offset',
protocol           STRING             COMMENT 'of a record: assignor chosen by the vote',
protocol_type      STRING             COMMENT 'of a record: consumer, connect, ...',
state_timestamp_ms BIGINT             COMMENT 'of a record: when the group entered its state'
