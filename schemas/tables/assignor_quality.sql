-- assignor_quality: one row per generation and assignor: how good what was given is, and what other assignors would have given.
-- Key: (cluster_id, group_id, incarnation, generation, assignor, mode)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.assign_partitions
cluster_id          STRING  NOT NULL COMMENT 'cluster',
group_id            STRING  NOT NULL COMMENT 'consumer group',
incarnation         INT     NOT NULL COMMENT 'life of the group',
generation          INT     NOT NULL COMMENT 'generation',
event_date          DATE    NOT NULL COMMENT 'UTC date of the generation',
assignor            STRING  NOT NULL COMMENT 'actual: what the leader gave; else the assignor that was re-run',
mode                STRING  NOT NULL COMMENT 'step: after what the generation before really had; chain: after what this assignor itself gave there',
own                 BOOLEAN NOT NULL COMMENT 'the assignor that the group''s vote chose; its step reads the subscriptions'' bytes, as the leader did',
chain_length        INT              COMMENT 'chain: generations since the chain began, this one included; an assignor without memory does not care; null for a step',
rounds              INT     NOT NULL COMMENT 'rebalances it takes: 2 where partitions must be revoked first and the group''s own history has no such second round',
imbalance           INT              COMMENT 'differences between all pairs of members, summed; 0 is best; null if the assignor fails',
spread              INT              COMMENT 'most partitions of a member less the fewest',
idle_members        ARRAY<STRING>    COMMENT 'processes that subscribe to something and have nothing',
partitions_assigned INT              COMMENT 'partitions that have an owner',
partitions_moved    INT              COMMENT 'partitions with another owner than before, by process',
moves_forced        INT              COMMENT 'moves that no assignment could avoid, of those moved: the owner is gone, or balance needs it',
stickiness          DOUBLE           COMMENT 'share kept of the partitions whose owner is still there; null if there were none',
equals_actual       BOOLEAN NOT NULL COMMENT 'every member was really given the same partitions, in whatever order',
difference          STRING           COMMENT 'of a step against what was really given: null if equal; order (same partitions, listed in another order); another_assignor (not the group''s own); topic_growth (equal with the partition counts that the leader knew: topics changed); custom_assignor (the group''s assignor is none of Kafka''s, or its leader no Java client: an implementation of its own); assignor_fails (Kafka''s throws); other',
partition_count_source STRING  NOT NULL COMMENT 'table: topic_partitions has every topic subscribed to; assignments: counted as far as any group of the cluster had been given partitions'
