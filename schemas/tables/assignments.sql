-- assignments: one row per partition given to a member in a generation.
-- Key: (cluster_id, group_id, incarnation, generation, assignor, topic, partition, member_id)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.assignments (assignor = actual), jobs.assign_partitions (the others)
cluster_id   STRING NOT NULL COMMENT 'cluster',
group_id     STRING NOT NULL COMMENT 'consumer group',
incarnation  INT    NOT NULL COMMENT 'life of the group',
generation   INT    NOT NULL COMMENT 'generation',
event_date   DATE   NOT NULL COMMENT 'UTC date of the generation',
assignor     STRING NOT NULL COMMENT 'actual: what the leader gave; else the assignor that was re-run',
member_id    STRING NOT NULL COMMENT 'member it was given to (of a replaced static member the last id)',
process      STRING NOT NULL COMMENT 'who that is across restarts, as in generation_members',
topic        STRING NOT NULL COMMENT 'topic',
partition    INT    NOT NULL COMMENT 'partition given'
