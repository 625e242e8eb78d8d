-- quarantine: one row per unreadable record, batch, byte range or log line, and per record of a diverged replica; no input is dropped.
-- Key: (cluster_id, source, file, position, log_offset)
-- Partitioned by: (cluster_id)
-- Written by: jobs.ingest
cluster_id       STRING  NOT NULL COMMENT 'cluster of the input',
source           STRING  NOT NULL COMMENT 'segments, broker_log, client_log, kafka, dump, trace or end_offsets',
file             STRING  NOT NULL COMMENT 'file or topic that the input was read from; file_id (broker_log, client_log, end_offsets)',
position         BIGINT  NOT NULL COMMENT 'byte position in the file (for a record, position of its batch); row number (Parquet or Avro dump); hash of a row without offset (Delta dump); else -1',
log_offset       BIGINT  NOT NULL COMMENT 'offset of the record in its log; -1 if the offset is unreadable',
topic_partition  STRING           COMMENT 'log of the record, if known',
reason           STRING  NOT NULL COMMENT 'why the input is unreadable, with type, version, field and byte; or diverged replica, with the offset and the evidence (leader epochs, the live topic, other copies of the partition) that the record is not in the partition''s log',
length           BIGINT  NOT NULL COMMENT 'number of unreadable bytes',
bytes            BINARY           COMMENT 'the unreadable bytes; for a record its key',
value            BINARY           COMMENT 'value of the record',
append_time      TIMESTAMP        COMMENT 'timestamp of the record, if readable'
