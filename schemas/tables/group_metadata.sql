-- group_metadata: one row per decoded GroupMetadata record, tombstones included.
-- Key: (cluster_id, topic_partition, log_offset)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.group_metadata
cluster_id         STRING    NOT NULL COMMENT 'cluster',
group_id           STRING    NOT NULL COMMENT 'consumer group',
topic_partition    STRING    NOT NULL COMMENT 'partition of __consumer_offsets with the record',
log_offset         BIGINT    NOT NULL COMMENT 'offset of the record in it: the order of events',
event_date         DATE      NOT NULL COMMENT 'UTC date of append_time',
append_time        TIMESTAMP          COMMENT 'timestamp of the record; null in message format 0',
tombstone          BOOLEAN   NOT NULL COMMENT 'the group was deleted',
value_version      INT                COMMENT 'version of the value: 0 to 4; null for a tombstone',
generation         INT                COMMENT 'generation; null for a tombstone',
protocol_type      STRING             COMMENT 'consumer, connect, ...; empty for a group without joins so far',
protocol           STRING             COMMENT 'assignor chosen by the members'' votes; null for an empty group',
leader             STRING             COMMENT 'member id of the leader',
state_timestamp_ms BIGINT             COMMENT 'time at which the group entered its state, ms since the epoch (value version 2 and up); for a stored assignment the time at which the join completed',
members            ARRAY<STRUCT<
    member_id: STRING COMMENT 'member id',
    instance_id: STRING COMMENT 'group.instance.id of a static member',
    client_id: STRING COMMENT 'client.id',
    client_host: STRING COMMENT 'address that the member joined from',
    rebalance_timeout_ms: INT COMMENT 'max.poll.interval.ms of a consumer; -1 in value version 0',
    session_timeout_ms: INT COMMENT 'session.timeout.ms',
    subscribed_topics: ARRAY<STRING> COMMENT 'topics of the subscription; null if it is not a consumer''s or unreadable',
    owned: ARRAY<STRUCT<topic: STRING, partitions: ARRAY<INT>>> COMMENT 'partitions that the member owns, by its subscription (version 1 and up)',
    owned_generation: INT COMMENT 'generation of the owned partitions (subscription version 2 and up)',
    rack_id: STRING COMMENT 'client.rack (subscription version 3)',
    assigned: ARRAY<STRUCT<topic: STRING, partitions: ARRAY<INT>>> COMMENT 'assigned partitions; null if the assignment is not a consumer''s or unreadable',
    subscription: BINARY COMMENT 'subscription bytes as sent',
    assignment: BINARY COMMENT 'assignment bytes as stored'>>  COMMENT 'members in the order of the record; null for a tombstone'
