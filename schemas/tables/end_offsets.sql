-- end_offsets: one row per sighting of a partition's log end offset; for successive sightings of the same offset, only the first and the last sighting of a date.
-- Key: (cluster_id, file_id, position, topic, partition, log_end_offset)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.ingest, jobs.snapshot
cluster_id     STRING    NOT NULL COMMENT 'cluster of the topic',
file_id        STRING    NOT NULL COMMENT 'hash of the file''s lines up to the first sighting, which stays the same when the file grows, or is renamed or compressed; list_offsets for source kafka',
position       BIGINT    NOT NULL COMMENT 'number of the sighting in the file, from 0; sightings that are not stored also count. For source kafka: ms since 1970 of the first sighting of this offset, plus 1 in the row of the last sighting',
topic          STRING    NOT NULL COMMENT 'topic',
partition      INT       NOT NULL COMMENT 'partition of the topic',
log_end_offset BIGINT    NOT NULL COMMENT 'offset that the next record of the partition gets; for a topic with a replication factor above 1, the high watermark',
event_date     DATE      NOT NULL COMMENT 'UTC date of seen_time',
seen_time      TIMESTAMP NOT NULL COMMENT 'time at which the partition had this log end offset',
source         STRING    NOT NULL COMMENT 'end_offsets for a file of --end-offsets; kafka: for ListOffsets of the running cluster',
format         STRING    NOT NULL COMMENT 'json, burrow, prometheus, describe, get_offsets; list_offsets for source kafka',
file           STRING    NOT NULL COMMENT 'file that the sighting was first read from; the brokers'' addresses for source kafka'
