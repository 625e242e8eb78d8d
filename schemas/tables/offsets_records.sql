-- offsets_records: one row per record of `__consumer_offsets`, as it lay in the log.
-- Key: (cluster_id, topic_partition, log_offset)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.ingest
cluster_id       STRING    NOT NULL COMMENT 'cluster the record was read from',
topic_partition  STRING    NOT NULL COMMENT 'log the record lay in, e.g. __consumer_offsets-3',
log_offset       BIGINT    NOT NULL COMMENT 'offset in that log: the only order there is',
event_date       DATE      NOT NULL COMMENT 'UTC date of append_time; 1970-01-01 where the record carries no time (message format 0)',
append_time      TIMESTAMP          COMMENT 'time in the record: CreateTime or LogAppendTime; null in message format 0',
key              BINARY             COMMENT 'record key; null only in control records',
value            BINARY             COMMENT 'record value; null is a tombstone',
key_type         INT                COMMENT 'first two bytes of the key: 0 and 1 offset commit, 2 group metadata, 3 and up newer groups; null in control records',
magic            INT       NOT NULL COMMENT 'message format: 0, 1 or 2; -1 where only the log could tell (kafka, dump)',
is_transactional BOOLEAN   NOT NULL COMMENT 'known to be written inside a transaction: counts only if a COMMIT marker follows',
producer_id      BIGINT    NOT NULL COMMENT 'producer of a transactional record or of a marker; -1 if none',
control          STRING             COMMENT 'COMMIT or ABORT for a transaction marker; ABORT for a record that a consumer came to know as aborted, without its marker (kafka); else null',
source           STRING    NOT NULL COMMENT 'how it came: segments, kafka or dump',
file             STRING    NOT NULL COMMENT 'file or topic it was read from',
position         BIGINT    NOT NULL COMMENT 'byte position of its batch in the file; in a dump of its line, or the number of its row; -1 where there is none (kafka, Delta)'
