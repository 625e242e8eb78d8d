-- offsets_records: one row per record of `__consumer_offsets`, unchanged.
-- Key: (cluster_id, topic_partition, log_offset)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.ingest
cluster_id       STRING    NOT NULL COMMENT 'cluster the record was read from',
topic_partition  STRING    NOT NULL COMMENT 'partition with the record, e.g. __consumer_offsets-3',
log_offset       BIGINT    NOT NULL COMMENT 'offset of the record in the partition: the order of events',
event_date       DATE      NOT NULL COMMENT 'UTC date of append_time; 1970-01-01 if the record has no timestamp (message format 0)',
append_time      TIMESTAMP          COMMENT 'timestamp of the record: CreateTime or LogAppendTime; null in message format 0',
key              BINARY             COMMENT 'record key; null only in control records',
value            BINARY             COMMENT 'record value; null is a tombstone',
key_type         INT                COMMENT 'first two bytes of the key: 0 and 1 offset commit, 2 group metadata, 3 and up newer groups; null in control records',
magic            INT       NOT NULL COMMENT 'message format: 0, 1 or 2; -1 from a source without message formats (kafka, dump)',
is_transactional BOOLEAN   NOT NULL COMMENT 'true if the record was written in a transaction, as far as the source shows it; such a record counts only if a COMMIT marker follows',
producer_id      BIGINT    NOT NULL COMMENT 'producer id of a transactional record or marker; else -1',
control          STRING             COMMENT 'COMMIT or ABORT for a transaction marker; ABORT for an aborted record that a consumer reads without its marker (kafka); else null',
source           STRING    NOT NULL COMMENT 'segments, kafka or dump',
file             STRING    NOT NULL COMMENT 'file or topic that the record was read from',
position         BIGINT    NOT NULL COMMENT 'byte position of the record''s batch in the file; for a dump the byte position of its line, or its row number; -1 if the source has neither (kafka, Delta)'
