-- committed_offsets: one row per decoded offset commit record, tombstones included.
-- Key: (cluster_id, topic_partition, log_offset)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.committed_offsets
cluster_id       STRING    NOT NULL COMMENT 'cluster',
group_id         STRING    NOT NULL COMMENT 'consumer group',
topic            STRING    NOT NULL COMMENT 'topic',
partition        INT       NOT NULL COMMENT 'partition of the topic',
topic_partition  STRING    NOT NULL COMMENT 'partition of __consumer_offsets with the record',
log_offset       BIGINT    NOT NULL COMMENT 'offset of the record in the partition: the order of events',
event_date       DATE      NOT NULL COMMENT 'UTC date of append_time',
append_time      TIMESTAMP          COMMENT 'timestamp of the record; null in message format 0',
tombstone        BOOLEAN   NOT NULL COMMENT 'true if the offset was removed (expired, or deleted with its group)',
value_version    INT                COMMENT 'version of the value; null for a tombstone',
committed_offset BIGINT             COMMENT 'offset committed; null for a tombstone',
leader_epoch     INT                COMMENT 'leader epoch of the last record consumed (value version 3 and up), -1 if unknown',
topic_id         STRING             COMMENT 'topic id (Kafka 4.1 and up); null if the record has none',
metadata         STRING             COMMENT 'metadata string of the commit',
commit_time      TIMESTAMP          COMMENT 'time at which the coordinator received the commit',
expire_time      TIMESTAMP          COMMENT 'expiry time requested by the commit (value version 1 only)',
outcome          STRING    NOT NULL COMMENT 'plain, or for a transactional commit: committed, aborted, open (no marker yet). Only plain and committed commits take effect'
