-- assignments: one row per partition assigned to a member in a generation.
-- Key: (cluster_id, group_id, incarnation, generation, assignor, topic, partition, member_id)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.assignments
cluster_id   STRING NOT NULL COMMENT 'cluster',
group_id     STRING NOT NULL COMMENT 'consumer group',
incarnation  INT    NOT NULL COMMENT 'incarnation of the group',
generation   INT    NOT NULL COMMENT 'generation',
event_date   DATE   NOT NULL COMMENT 'UTC date of the generation',
assignor     STRING NOT NULL COMMENT 'actual for the stored assignment, which in consumer, share and streams groups is the last assignment of each member; the server assignor''s name for the target (is_target)',
member_id    STRING NOT NULL COMMENT 'member that the partition is assigned to (the last member id of a replaced static member)',
process      STRING NOT NULL COMMENT 'process of the member, the same across restarts, as in generation_members',
topic        STRING NOT NULL COMMENT 'topic; its id if no evidence has the name; for a streams task each topic that the task reads; for Kafka Connect the connector''s name',
partition    INT    NOT NULL COMMENT 'assigned partition; for Kafka Connect the number of the task, -1 for the connector itself',
role         STRING          COMMENT 'active; in groups of Kafka Streams, of either protocol, also standby and warmup, which consume nothing (warmup is estimated under the classic protocol); in groups of Kafka Connect connector and task',
subtopology  STRING          COMMENT 'subtopology of a streams task',
is_target    BOOLEAN         COMMENT 'true for the target that the coordinator computed',
evidence     STRING          COMMENT 'clients if only clients'' logs show the row; null if the group''s records do'
