-- assignor_reruns: one row per partition that an assignor, run again on a recorded generation, assigns to a member.
-- Key: (cluster_id, group_id, incarnation, generation, assignor, topic, partition, member_id)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.assign_partitions; one step of each assignor from the actual previous assignment
cluster_id   STRING NOT NULL COMMENT 'cluster',
group_id     STRING NOT NULL COMMENT 'consumer group',
incarnation  INT    NOT NULL COMMENT 'incarnation of the group',
generation   INT    NOT NULL COMMENT 'generation',
event_date   DATE   NOT NULL COMMENT 'UTC date of the generation',
assignor     STRING NOT NULL COMMENT 'assignor that was run again: one of the clients, or uniform and server-range of the coordinator in consumer groups',
member_id    STRING NOT NULL COMMENT 'member that the assignor gives the partition to (the last member id of a replaced static member)',
process      STRING NOT NULL COMMENT 'process of the member, the same across restarts, as in generation_members',
topic        STRING NOT NULL COMMENT 'topic; its id if no evidence has the name',
partition    INT    NOT NULL COMMENT 'assigned partition',
role         STRING          COMMENT 'active, as in assignments',
subtopology  STRING          COMMENT 'always null, because streams groups are not run again'
