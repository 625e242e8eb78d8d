-- member_epochs: one row per current assignment of a member of a consumer, share or streams group.
-- Key: (cluster_id, topic_partition, log_offset)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.member_epochs
cluster_id         STRING    NOT NULL COMMENT 'cluster',
group_id           STRING    NOT NULL COMMENT 'group',
incarnation        INT       NOT NULL COMMENT 'incarnation of the group',
member_id          STRING    NOT NULL COMMENT 'member',
process            STRING    NOT NULL COMMENT 'process behind the member, as in generation_members',
epoch              INT       NOT NULL COMMENT 'member epoch: the target assignment that the member has reached; -2 while a static member is away',
previous_epoch     INT                COMMENT 'previous member epoch',
state              STRING    NOT NULL COMMENT 'STABLE, UNREVOKED (the member was asked to give up partitions), UNRELEASED (other members still have partitions that it will get)',
assigned           ARRAY<STRUCT<
    role: STRING COMMENT 'role of the assignment: active; in streams groups also standby and warmup',
    subtopology: STRING COMMENT 'subtopology of streams tasks',
    topic: STRING COMMENT 'topic; its id if no evidence has the name',
    partitions: ARRAY<INT> COMMENT 'partitions'>> COMMENT 'partitions that the member has',
pending_revocation ARRAY<STRUCT<role: STRING, subtopology: STRING, topic: STRING, partitions: ARRAY<INT>>> COMMENT 'partitions or tasks that the member was asked to give up; fields as in assigned',
event_date         DATE      NOT NULL COMMENT 'UTC date of the record',
time               TIMESTAMP NOT NULL COMMENT 'time of the record',
generation         INT                COMMENT 'assignment epoch of the group at that time; null before the first target',
topic_partition    STRING    NOT NULL COMMENT 'partition of __consumer_offsets with the record',
log_offset         BIGINT    NOT NULL COMMENT 'offset of the record'
