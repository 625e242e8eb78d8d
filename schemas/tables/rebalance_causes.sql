-- rebalance_causes: one row per cause of a rebalance: its trigger, and other causes before all members had joined.
-- Key: (cluster_id, group_id, incarnation, generation, cause_seq)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.rebalance_causes
cluster_id    STRING    NOT NULL COMMENT 'cluster',
group_id      STRING    NOT NULL COMMENT 'consumer group',
incarnation   INT       NOT NULL COMMENT 'incarnation of the group',
generation    INT       NOT NULL COMMENT 'generation that the rebalance made; for an absorbed cause the current generation; in clients'' logs the next generation that they show, or 0 if they name none',
cause_seq     INT       NOT NULL COMMENT 'number of the cause, from 1, in order',
event_date    DATE      NOT NULL COMMENT 'UTC date of the generation; for an absorbed cause the date of the cause',
event_time    TIMESTAMP          COMMENT 'time of the cause',
role          STRING    NOT NULL COMMENT 'trigger, contributing, or absorbed (caused no rebalance)',
cause         STRING    NOT NULL COMMENT 'cause class: MEMBER_NEW, LEAVE, LEAVE_POLL_TIMEOUT, SESSION_EXPIRY, LEADER_REJOIN, METADATA_CHANGE, STATIC_UPDATE, STATIC_REPLACED, SYNC_TIMEOUT, STORE_ERROR, GROUP_DELETED, GROUP_CONFIG, ...; Kafka Connect: CONFIG_CHANGE, SCHEDULED_REBALANCE; Kafka Streams under the classic protocol: PROBING_REBALANCE; consumer, share and streams groups: MEMBER_NEW, LEAVE, SESSION_EXPIRY, REBALANCE_TIMEOUT, SUBSCRIPTION_CHANGE, ASSIGNOR_CHANGE, REGEX, TOPIC_CHANGE, STATIC_LEAVE, STATIC_RETURN, STATIC_REFUSED, CONVERSION, MEMBER_GONE; in clients'' logs also: STATIC_FENCED (another process has the instance id), GROUP_FULL, ASSIGNMENT_FAILED (the leader could not assign), COORDINATOR_MOVED',
story         STRING             COMMENT 'action of the process that caused the rebalance. Departures: restart (back within a minute; without a record: a member with its client id joined, which may also be the same process after a slow poll), stop, slow_poll (max.poll.interval.ms exceeded), session_expired, stop_or_session_expired (static members of classic groups, members of Kafka Streams that did not commit last: not distinguishable), client_fenced (static members: the coordinator had fenced the client, which ended it), frozen (its session expired, and it was back under its member id), slow_rejoin, no_sync, slow_revoke (did not give up partitions in time). Arrivals: start, return, restart (static; by records alone also a dynamic member whose process had another member id in the previous generation), session_lost (its client lost its session while the group had no coordinator), crash_restart (its previous member was still in the group), takeover (static: a second process with the instance id of a running one). Others: follow_up (second cooperative round; a regular expression, share state or topology was completed after a join), refused (a second process with the instance id of this member could not join), scheduled (members rejoin at the time that an earlier assignment set), deleted, fenced (a client logged that its instance id is fenced), group_full, group_config (the configuration of the group changed), topic_change, rejoin. Null if unknown',
member_id     STRING             COMMENT 'member concerned',
instance_id   STRING             COMMENT 'group.instance.id of the culprit member',
client_id     STRING             COMMENT 'client.id of the culprit member, from a record or a line, otherwise the beginning of its member id',
client_host   STRING             COMMENT 'address of the culprit member, if a record or a line has it',
process       STRING             COMMENT 'process behind the culprit member, as in generation_members, if a record has it',
session_timeout_ms   INT         COMMENT 'session.timeout.ms of the culprit member, if a record has it',
rebalance_timeout_ms INT         COMMENT 'max.poll.interval.ms of the culprit member; -1 if not sent',
reason        STRING             COMMENT 'reason in the broker''s words',
client_reason STRING             COMMENT 'reason that the client sent (KIP-800); in clients'' logs: what the client logged, then the times that its lines show, separated by ;',
evidence      STRING    NOT NULL COMMENT 'log (a line names the cause), records (membership changed), commits (inferred from commit gaps), clients (a client''s log), or clients and another kind, as clients+log',
settings      ARRAY<STRING>      COMMENT 'for a static member that took the place of its previous process: changed settings, e.g. session.timeout.ms 10000 -> 45000; for GROUP_CONFIG: settings that differ from the previous configuration; null if nothing changed'
