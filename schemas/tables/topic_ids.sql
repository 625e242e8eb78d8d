-- topic_ids: one row per topic id whose topic's name is in the evidence; records of consumer and share groups have only ids.
-- Key: (cluster_id, topic_id)
-- Written by: jobs.topic_ids
cluster_id STRING NOT NULL COMMENT 'cluster',
topic_id   STRING NOT NULL COMMENT 'topic id, as Kafka prints it',
topic      STRING NOT NULL COMMENT 'name of the topic',
evidence   STRING NOT NULL COMMENT 'commits, records (a record has both id and name), deletions (the id left the targets when the offsets of the topic were deleted), or subscriptions (the only subscribed topic that the id can belong to)'
