-- timeline: one row per event of a group, from logs and records, in one order, by incarnation.
-- Key: (cluster_id, group_id, seq)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.timeline
cluster_id         STRING    NOT NULL COMMENT 'cluster',
group_id           STRING    NOT NULL COMMENT 'consumer group',
seq                BIGINT    NOT NULL COMMENT 'order of the group''s events; event_seq for events from a log',
event_date         DATE      NOT NULL COMMENT 'UTC date of event_time',
event_time          TIMESTAMP          COMMENT 'time of the event; null for a record without a timestamp',
incarnation        INT       NOT NULL COMMENT 'incarnation of the group',
event               STRING    NOT NULL COMMENT 'event of group_events, or of a record: RECORD, RECORD_EMPTY (no members), TOMBSTONE (the group was deleted); in consumer, share and streams groups EPOCH_RECORD (group epoch), TARGET_RECORD (target assignment), MEMBER_RECORD (member metadata), OTHER_RECORD, DELETED_RECORD (of anything but the group), CONVERSION_RECORD (the group goes on under another protocol)',
event_generation              INT                COMMENT 'generation that the event names; in REBALANCE_START the previous generation; null without one',
current_generation INT                COMMENT 'generation of the group at this event: named by this event, else by the last event that names one',
forming_generation INT                COMMENT 'generation that is being formed: a join, leave or expiry at this event affects it',
member_id          STRING             COMMENT 'member that the event is about; leader''s member id (RECORD events)',
instance_id        STRING             COMMENT 'group.instance.id of a static member',
old_member_id      STRING             COMMENT 'member id that a static member had before it was replaced',
step               STRING             COMMENT 'MEMBER_JOIN: id_required, direct or pending; LEFT: pending if the member had not joined yet',
reason             STRING             COMMENT 'reason in the broker''s words',
client_reason      STRING             COMMENT 'reason that the client sent (KIP-800)',
cause              STRING             COMMENT 'cause class of the reason',
client_cause       STRING             COMMENT 'class of the client reason',
member_count       INT                COMMENT 'number of members, if the event has it',
members            ARRAY<STRING>      COMMENT 'members that the event lists; all members (RECORD events)',
topic_partition    STRING             COMMENT 'partition of __consumer_offsets (records)',
log_offset         BIGINT             COMMENT 'offset of the record (records)',
protocol           STRING             COMMENT 'assignor chosen by the members'' votes (records), or server assignor that computed a target (TARGET)',
protocol_type      STRING             COMMENT 'consumer, connect, ... (records)',
state_timestamp_ms BIGINT             COMMENT 'time at which the group entered its state, ms since the epoch (records)'
