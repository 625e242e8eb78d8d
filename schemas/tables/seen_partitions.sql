-- seen_partitions: one row per topic and number of partitions it was seen with, by what any group's members were given.
-- Key: (cluster_id, topic, partitions)
-- Partitioned by: (cluster_id)
-- Written by: jobs.assign_partitions
cluster_id STRING    NOT NULL COMMENT 'cluster',
topic      STRING    NOT NULL COMMENT 'topic',
partitions INT       NOT NULL COMMENT 'one more than the highest partition that one member was given at a time',
since      TIMESTAMP NOT NULL COMMENT 'from when on it was seen'
