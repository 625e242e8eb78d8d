-- generation_members: one row per generation and member, from the group's records.
-- Key: (cluster_id, group_id, incarnation, generation, member_id)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.generation_members
cluster_id           STRING        NOT NULL COMMENT 'cluster',
group_id             STRING        NOT NULL COMMENT 'consumer group',
incarnation          INT           NOT NULL COMMENT 'incarnation of the group',
generation           INT           NOT NULL COMMENT 'generation',
event_date           DATE          NOT NULL COMMENT 'UTC date of the generation',
member_id            STRING        NOT NULL COMMENT 'member id; member id; `client@log#n` if only a client''s log shows the member and this log has no member id',
instance_id          STRING                 COMMENT 'group.instance.id of a static member',
client_id            STRING                 COMMENT 'client.id',
client_host          STRING                 COMMENT 'address that the member joined from',
process              STRING        NOT NULL COMMENT 'process behind the member, the same across restarts: the instance id, else client id and host if only one member has these, else the member id; in rows of clients'' logs `client@log` or `client@pod` instead of host and member id',
session_timeout_ms   INT                    COMMENT 'session.timeout.ms',
rebalance_timeout_ms INT                    COMMENT 'max.poll.interval.ms of a consumer; -1 if not sent',
subscribed_topics    ARRAY<STRING>          COMMENT 'topics of the subscription',
is_leader            BOOLEAN       NOT NULL COMMENT 'true if the member computed the assignment; false for all members of a generation whose evidence does not name the leader',
change               STRING        NOT NULL COMMENT 'joined, retained, or replaced (a new member id of an instance that was in the group)',
left_how             STRING                 COMMENT 'how the membership ended after this generation: left, session_expired, dropped (did not rejoin or sync in time), replaced; null if it did not end or the log does not show how',
left_time            TIMESTAMP              COMMENT 'time at which the membership ended, if logged',
left_reason          STRING                 COMMENT 'reason that the client sent for leaving (KIP-800)',
gone                 BOOLEAN       NOT NULL COMMENT 'true if the next record of the group does not contain the member',
process_id           STRING                 COMMENT 'process id of Kafka Streams (classic protocol): the members of a process, one per thread, share it',
endpoint             STRING                 COMMENT 'Kafka Connect: URL of the worker; Kafka Streams (classic protocol): application.server',
config_offset        BIGINT                 COMMENT 'Kafka Connect: last offset of the config topic that the worker had read when it joined',
evidence             STRING                 COMMENT 'clients if only clients'' logs show the row; null if the group''s records do'
