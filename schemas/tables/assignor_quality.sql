-- assignor_quality: one row per generation and assignor: quality of the stored assignment and of the assignments by other assignors.
-- Key: (cluster_id, group_id, incarnation, generation, assignor, mode)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.assign_partitions
cluster_id          STRING  NOT NULL COMMENT 'cluster',
group_id            STRING  NOT NULL COMMENT 'consumer group',
incarnation         INT     NOT NULL COMMENT 'incarnation of the group',
generation          INT     NOT NULL COMMENT 'generation',
event_date          DATE    NOT NULL COMMENT 'UTC date of the generation',
assignor            STRING  NOT NULL COMMENT 'actual: the stored assignment, in consumer groups the target; otherwise the assignor that was run again (server-range: the coordinator''s range)',
mode                STRING  NOT NULL COMMENT 'step starts from the stored assignment of the previous generation; chain starts from the assignor''s own result for the previous generation',
own                 BOOLEAN NOT NULL COMMENT 'true for the assignor that the group chose, whose step reads the input of the leader, or in consumer groups of the coordinator',
chain_length        INT              COMMENT 'generations since the chain began, including this generation; null for a step. An assignor that ignores the previous assignment gives the same result for any length',
rounds              INT     NOT NULL COMMENT 'rebalances needed: 2 if partitions must be revoked first and the group''s history has no such second round',
imbalance           INT              COMMENT 'sum of the differences in partitions over all pairs of members; 0 is best; null if the assignor fails',
spread              INT              COMMENT 'most partitions of one member minus fewest partitions of one member',
idle_members        ARRAY<STRING>    COMMENT 'processes with a subscription but without partitions',
partitions_assigned INT              COMMENT 'partitions that have an owner',
partitions_moved    INT              COMMENT 'partitions whose owner is another process than the previous owner',
moves_forced        INT              COMMENT 'moves that no assignment could avoid, because the owner has left or balance requires the move',
stickiness          DOUBLE           COMMENT 'share of the partitions with a retained owner that this owner kept; null without such partitions',
equals_actual       BOOLEAN NOT NULL COMMENT 'the stored assignment gives every member the same partitions, in any order',
difference          STRING           COMMENT 'how a step differs from the stored assignment: null if equal; order (same partitions in another order); another_assignor (not the group''s own); topic_growth (equal with the outdated partition counts that the leader knew); custom_assignor (an implementation other than Kafka''s: the group''s assignor is not one of Kafka''s, or its leader is neither a Java client nor librdkafka''s cooperative-sticky); assignor_fails (Kafka''s assignor throws an exception); not_rerun (of actual: the generation has more than 5,000 members and partitions together, or follows such generations, and 24 such generations of the group and date were run again; only partitions_assigned is computed); other. In consumer groups also previous_target_unknown (the assignor needs the previous target, and the records begin later or have a gap), assignor_assumed (no log line has the assignor, and the members'' preferences do not decide it), topics_unknown (members subscribe to different topics, and a topic id has no name)',
partition_count_source STRING  NOT NULL COMMENT 'table: topic_partitions has every subscribed topic; assignments: counted from the highest partition assigned to any group of the cluster; target: counted from the target of a consumer group'
