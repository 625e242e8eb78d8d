-- topic_partitions: one row per topic and partition count that an operator supplied; the table may be empty or missing.
-- Key: (cluster_id, topic, since)
-- Partitioned by: (cluster_id)
-- Written by: jobs.topic_partitions, from a file that an operator supplies; without it partitions are counted from assignments (seen_partitions)
cluster_id STRING NOT NULL COMMENT 'cluster',
topic      STRING NOT NULL COMMENT 'topic',
partitions INT    NOT NULL COMMENT 'partition count of the topic',
since      TIMESTAMP       COMMENT 'time from which the count holds; null if it holds from the beginning'
