-- committed_offsets: one row per offset commit record, decoded, tombstones included.
-- Key: (cluster_id, topic_partition, log_offset)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.committed_offsets
cluster_id       STRING    NOT NULL COMMENT 'cluster',
group_id         STRING    NOT NULL COMMENT 'consumer group',
topic            STRING    NOT NULL COMMENT 'topic committed for',
partition        INT       NOT NULL COMMENT 'partition committed for',
topic_partition  STRING    NOT NULL COMMENT 'log the record lay in',
log_offset       BIGINT    NOT NULL COMMENT 'offset in that log: the only order there is',
event_date       DATE      NOT NULL COMMENT 'UTC date of append_time',
append_time      TIMESTAMP          COMMENT 'time in the record; null in message format 0',
tombstone        BOOLEAN   NOT NULL COMMENT 'the offset was removed (expired, deleted with its group)',
value_version    INT                COMMENT 'version of the value; null for a tombstone',
committed_offset BIGINT             COMMENT 'offset committed; null for a tombstone',
leader_epoch     INT                COMMENT 'leader epoch of the last record consumed (value version 3 and up), -1 if unknown',
metadata         STRING             COMMENT 'text that the client put beside the offset',
commit_time      TIMESTAMP          COMMENT 'when the coordinator took the commit',
expire_time      TIMESTAMP          COMMENT 'when the commit asked to expire (value version 1 only)',
outcome          STRING    NOT NULL COMMENT 'plain; or of a transactional commit: committed, aborted, open (no marker yet). Only plain and committed ones count'
