-- topic_partitions: how many partitions topics have, as far as somebody says so; may be empty or missing.
-- Key: (cluster_id, topic, since)
-- Partitioned by: (cluster_id)
-- Written by: jobs.topic_partitions, from a file of whoever knows; without it partitions are counted by the assignments seen
cluster_id STRING NOT NULL COMMENT 'cluster',
topic      STRING NOT NULL COMMENT 'topic',
partitions INT    NOT NULL COMMENT 'partitions of the topic',
since      TIMESTAMP       COMMENT 'from when on; null: as long as anybody remembers'
