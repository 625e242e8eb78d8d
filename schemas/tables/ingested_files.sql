-- ingested_files: one row per file read (of a dump per file and log in it, of kafka per log), with the counts that must add up.
-- Key: (cluster_id, source, file)
-- Written by: jobs.ingest
cluster_id       STRING    NOT NULL COMMENT 'cluster the file belongs to',
source           STRING    NOT NULL COMMENT 'segments, broker_log, kafka, dump or trace',
file             STRING    NOT NULL COMMENT 'path; of a broker''s log the file_id; of a dump path#log; of kafka the log',
path             STRING    NOT NULL COMMENT 'path it was last read from',
bytes            BIGINT    NOT NULL COMMENT 'size on disk when it was last read',
inputs           BIGINT    NOT NULL COMMENT 'records found in it, or lines',
kept_by_date     MAP<DATE, BIGINT> NOT NULL COMMENT 'of these: readable, by UTC date; in bronze for every date that was asked for',
quarantined      BIGINT    NOT NULL COMMENT 'of these: in quarantine',
skipped          BIGINT    NOT NULL COMMENT 'of these: lines that are not a coordinator logger''s, and continuation lines; in a dump records of other topics, and repeated ones',
unreadable_bytes BIGINT    NOT NULL COMMENT 'bytes of stretches that are no record batch (in quarantine too, not among the inputs)',
topic_partition  STRING             COMMENT 'log that the records belong to',
first_offset     BIGINT             COMMENT 'first record offset in the file',
last_offset      BIGINT             COMMENT 'last record offset in the file'
