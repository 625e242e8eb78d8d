-- group_events: one row per event that a coordinator logged about a group, in order.
-- Key: (cluster_id, group_id, event_seq)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.group_events
cluster_id       STRING    NOT NULL COMMENT 'cluster',
group_id         STRING    NOT NULL COMMENT 'consumer group',
event_seq        BIGINT    NOT NULL COMMENT 'order of the group''s events: by position in the log or trace, not by time alone',
event_date       DATE      NOT NULL COMMENT 'UTC date of event_time',
event_time       TIMESTAMP NOT NULL COMMENT 'time at which the coordinator logged the event',
event            STRING    NOT NULL COMMENT 'REBALANCE_START, JOIN_COMPLETE, ASSIGNMENT_RECEIVED, GROUP_EMPTY, LEFT, ...',
state            STRING             COMMENT 'state of the group after the event, if the event determines it',
generation       INT                COMMENT 'generation that the event names; in REBALANCE_START the previous generation',
member_id        STRING             COMMENT 'member the event is about',
instance_id      STRING             COMMENT 'group.instance.id of a static member',
old_member_id    STRING             COMMENT 'member id that a static member had before it was replaced',
step             STRING             COMMENT 'MEMBER_JOIN: id_required, direct or pending; LEFT: pending if the member had not joined yet',
client_id        STRING             COMMENT 'client.id, if the event has it',
client_host      STRING             COMMENT 'address of the member, if the event has it',
reason           STRING             COMMENT 'reason in the broker''s words',
client_reason    STRING             COMMENT 'reason that the client sent (KIP-800)',
cause            STRING             COMMENT 'cause class of the reason',
client_cause     STRING             COMMENT 'class of the client reason',
member_count     INT                COMMENT 'number of members, if the event has it',
protocol         STRING             COMMENT 'TARGET: server assignor that computed the target',
members          ARRAY<STRING>      COMMENT 'members that the event lists',
source           STRING    NOT NULL COMMENT 'broker_log or trace',
broker_id        INT       NOT NULL COMMENT 'coordinator; -1 if unknown',
file_id          STRING    NOT NULL COMMENT 'log or trace with the event',
position         BIGINT    NOT NULL COMMENT 'byte position of the event in it'
