-- unserved_times: one row per partition and time in which a process owned the partition and records waited, but no process handled them; times are split by generation and date. Times without an owner are in ownership_gaps.
-- Key: (cluster_id, group_id, incarnation, topic, partition, from_time)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.unserved_times
cluster_id         STRING    NOT NULL COMMENT 'cluster',
group_id           STRING    NOT NULL COMMENT 'group',
incarnation        INT       NOT NULL COMMENT 'incarnation of the group',
generation         INT       NOT NULL COMMENT 'generation that assigned the partition to the owner',
topic              STRING    NOT NULL COMMENT 'topic',
partition          INT       NOT NULL COMMENT 'partition of the topic',
process            STRING    NOT NULL COMMENT 'owner, a process across restarts, as in generation_members',
member_id          STRING    NOT NULL COMMENT 'member id of the owner',
event_date         DATE      NOT NULL COMMENT 'UTC date of from_time',
from_time          TIMESTAMP NOT NULL COMMENT 'time since which records waited: the owner stopped, or the first record arrived after the stop',
to_time            TIMESTAMP NOT NULL COMMENT 'time at which the owner continued or no longer owned the partition, or midnight UTC; for a time that has not ended, the time of the cluster''s last event on the date of the group''s last event',
unserved_ms        BIGINT    NOT NULL COMMENT 'ms from from_time to to_time',
reason             STRING    NOT NULL COMMENT 'slow_poll (the application did not poll for max.poll.interval.ms), frozen (no heartbeat until the session expired, but the process was alive; also a network cut), stuck (the owner''s other partitions advanced: the partition was paused, or has a record that cannot be handled), owner_stalled (no partition of the owner advanced), no_progress (like stuck, but without log end offsets: perhaps the partition had no records)',
committed_offset   BIGINT             COMMENT 'offset of the partition''s last commit before to_time; null without commits',
commit_interval_ms BIGINT    NOT NULL COMMENT 'typical time in ms between two commits of a partition of the group (the interval in which most of the time passed), on the date of the assignment; 5000, the default of clients, without commits',
behind             BIGINT             COMMENT 'records between committed_offset and the log end at to_time; null without log end offsets',
evidence           STRING    NOT NULL COMMENT 'evidence for the time: log, records or commits, also commits+end_offsets',
estimated          BOOLEAN   NOT NULL COMMENT 'true if from_time or to_time is inferred, because no line, record or commit has it'
