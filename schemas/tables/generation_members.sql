-- generation_members: one row per member of a generation, from the group's records.
-- Key: (cluster_id, group_id, incarnation, generation, member_id)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.generation_members
cluster_id           STRING        NOT NULL COMMENT 'cluster',
group_id             STRING        NOT NULL COMMENT 'consumer group',
incarnation          INT           NOT NULL COMMENT 'life of the group',
generation           INT           NOT NULL COMMENT 'generation',
event_date           DATE          NOT NULL COMMENT 'UTC date of the generation',
member_id            STRING        NOT NULL COMMENT 'member',
instance_id          STRING                 COMMENT 'group.instance.id of a static member',
client_id            STRING                 COMMENT 'client.id',
client_host          STRING                 COMMENT 'address it joined from',
process              STRING        NOT NULL COMMENT 'who it is across restarts: the instance id, else client id and host where these name one member, else the member id',
session_timeout_ms   INT                    COMMENT 'session.timeout.ms',
rebalance_timeout_ms INT                    COMMENT 'max.poll.interval.ms of a consumer; -1 if not sent',
subscribed_topics    ARRAY<STRING>          COMMENT 'topics of its subscription',
is_leader            BOOLEAN       NOT NULL COMMENT 'the member computed the assignment',
change               STRING        NOT NULL COMMENT 'joined, retained, or replaced (a new member id of an instance that was in the group)',
left_how             STRING                 COMMENT 'how it went after this generation: left, expired, dropped (did not rejoin or sync in time), replaced; null if it stayed or no log says',
left_time            TIMESTAMP              COMMENT 'when it went, where a log says',
left_reason          STRING                 COMMENT 'reason the client gave for leaving (KIP-800)',
gone                 BOOLEAN       NOT NULL COMMENT 'the next record of the group is without it'
