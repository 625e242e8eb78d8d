-- ingested_files: one row per input file (for dumps: per file and log in the file; for kafka: per log), with record counts that must add up.
-- Key: (cluster_id, source, file)
-- Written by: jobs.ingest
cluster_id       STRING    NOT NULL COMMENT 'cluster the file belongs to',
source           STRING    NOT NULL COMMENT 'segments, broker_log, client_log, kafka, dump, trace or end_offsets',
file             STRING    NOT NULL COMMENT 'path; file_id (broker_log, client_log, end_offsets); path#log (dump); log (kafka)',
path             STRING    NOT NULL COMMENT 'path that the file was last read from',
bytes            BIGINT    NOT NULL COMMENT 'size on disk when the file was last read',
inputs           BIGINT    NOT NULL COMMENT 'number of records or lines in the file',
kept_by_date     MAP<DATE, BIGINT> NOT NULL COMMENT 'readable inputs by UTC date; for every date that was ingested, a bronze table has these inputs',
quarantined      BIGINT    NOT NULL COMMENT 'number of unreadable inputs, and of records of diverged replicas, in quarantine',
skipped          BIGINT    NOT NULL COMMENT 'skipped inputs: lines that are not a coordinator logger''s, and continuation lines; in a dump records of other topics; in a dump or segment repeated records; in a file of end_offsets lines about something else, and sightings of an offset between its first and last sighting on a date',
unreadable_bytes BIGINT    NOT NULL COMMENT 'number of bytes that are not part of a record batch; they are in quarantine, but not among the inputs',
topic_partition  STRING             COMMENT 'log that the records belong to',
first_offset     BIGINT             COMMENT 'first record offset in the file',
last_offset      BIGINT             COMMENT 'last record offset in the file',
next_offset      BIGINT             COMMENT 'offset from which the next run reads (kafka)',
copies           ARRAY<STRING>      COMMENT 'length and digest of each copy of the log that was read, which distinguish logs with an equal beginning (broker_log, client_log)',
not_understood   BIGINT             COMMENT 'number of lines that name a coordinator or a consumer but are not understood: skipped or in quarantine (broker_log, client_log)',
undated          BIGINT             COMMENT 'number of lines in quarantine because they have no complete date (broker_log, client_log)',
steps_back       BIGINT             COMMENT 'number of lines whose time is more than 5 s before the previous line of the same source (broker_log, client_log)',
examples         STRING             COMMENT 'up to three lines that are not understood, separated by line breaks (broker_log, client_log)',
software         STRING             COMMENT 'software and versions that lines name, as java 3.9.1 or librdkafka 2.3.0, and versions that the offered APIs and features of brokers show, as broker 4.1; separated by line breaks (broker_log, client_log)'
