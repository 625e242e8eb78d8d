-- seen_partitions: one row per topic and partition count seen in the assignments of any group.
-- Key: (cluster_id, topic, partitions)
-- Partitioned by: (cluster_id)
-- Written by: jobs.assign_partitions
cluster_id STRING    NOT NULL COMMENT 'cluster',
topic      STRING    NOT NULL COMMENT 'topic',
partitions INT       NOT NULL COMMENT 'highest partition in one member''s assignment, plus one',
since      TIMESTAMP NOT NULL COMMENT 'time at which this count was first seen'
