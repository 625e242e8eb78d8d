-- group_events: one row per thing that a coordinator said of a group, in order.
-- Key: (cluster_id, group_id, event_seq)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.group_events
cluster_id       STRING    NOT NULL COMMENT 'cluster',
group_id         STRING    NOT NULL COMMENT 'consumer group',
event_seq        BIGINT    NOT NULL COMMENT 'order of the group''s events: by position in the log or trace, not by time alone',
event_date       DATE      NOT NULL COMMENT 'UTC date of event_time',
event_time       TIMESTAMP NOT NULL COMMENT 'when the coordinator said it',
event            STRING    NOT NULL COMMENT 'REBALANCE_START, JOIN_COMPLETE, ASSIGNMENT_RECEIVED, GROUP_EMPTY, LEFT, ...',
state            STRING             COMMENT 'state the group is in after the event, where the event says',
generation       INT                COMMENT 'generation the event names; of REBALANCE_START the old one',
member_id        STRING             COMMENT 'member the event is about',
instance_id      STRING             COMMENT 'group.instance.id of a static member',
old_member_id    STRING             COMMENT 'member id that a static member had before it was replaced',
step             STRING             COMMENT 'of a MEMBER_JOIN: id_required, direct or pending; of a LEFT: pending if it had not joined yet',
client_id        STRING             COMMENT 'client.id, where the event has it',
client_host      STRING             COMMENT 'address of the member, where the event has it',
reason           STRING             COMMENT 'reason as the broker words it',
client_reason    STRING             COMMENT 'reason that the client sent (KIP-800)',
cause            STRING             COMMENT 'cause class of the reason',
client_cause     STRING             COMMENT 'class of the client reason',
member_count     INT                COMMENT 'members, where the event counts them',
members          ARRAY<STRING>      COMMENT 'members the event lists',
source           STRING    NOT NULL COMMENT 'broker_log or trace',
broker_id        INT       NOT NULL COMMENT 'coordinator; -1 if unknown',
file_id          STRING    NOT NULL COMMENT 'log or trace the event stands in',
position         BIGINT    NOT NULL COMMENT 'its byte position there'
