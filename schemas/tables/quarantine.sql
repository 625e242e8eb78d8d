-- quarantine: one row per record, batch, stretch of bytes or log line that could not be read; nothing is dropped.
-- Key: (cluster_id, source, file, position, log_offset)
-- Partitioned by: (cluster_id)
-- Written by: jobs.ingest
cluster_id       STRING  NOT NULL COMMENT 'cluster it came from',
source           STRING  NOT NULL COMMENT 'segments, broker_log, kafka, dump or trace',
file             STRING  NOT NULL COMMENT 'file (or topic) it was read from; of a log the file_id',
position         BIGINT  NOT NULL COMMENT 'byte position in the file (of its batch, for a record); in a Parquet or Avro dump the number of the row, in a Delta dump a hash of a row without offset; -1 where there is none',
log_offset       BIGINT  NOT NULL COMMENT 'offset of the record in its log; -1 where none could be read',
topic_partition  STRING           COMMENT 'log it lay in, where known',
reason           STRING  NOT NULL COMMENT 'what is wrong with it, by type, version, field and byte',
length           BIGINT  NOT NULL COMMENT 'bytes concerned',
bytes            BINARY           COMMENT 'the bytes themselves; of a record its key',
value            BINARY           COMMENT 'of a record its value',
append_time      TIMESTAMP        COMMENT 'time of the record, where one could be read'
