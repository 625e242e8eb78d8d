-- handovers: one row per partition that changed its process.
-- Key: (cluster_id, group_id, incarnation, topic, partition, assigned_time)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.handovers
cluster_id     STRING    NOT NULL COMMENT 'cluster',
group_id       STRING    NOT NULL COMMENT 'group',
incarnation    INT       NOT NULL COMMENT 'incarnation of the group',
generation     INT       NOT NULL COMMENT 'generation in which the next owner has the partition',
event_date     DATE      NOT NULL COMMENT 'UTC date of assigned_time; in classic groups of the generation',
topic          STRING    NOT NULL COMMENT 'topic; for a streams task each topic that the task reads',
partition      INT       NOT NULL COMMENT 'partition of the topic',
subtopology    STRING             COMMENT 'subtopology of a streams task',
from_process   STRING    NOT NULL COMMENT 'process that owned the partition last, with the same name across restarts, as in generation_members',
to_process     STRING    NOT NULL COMMENT 'next owner',
from_member_id STRING             COMMENT 'member id of the last owner; null in classic groups',
to_member_id   STRING             COMMENT 'member id of the next owner; null in classic groups',
requested_time TIMESTAMP          COMMENT 'time at which the target gave the partition to the next owner; in classic groups the begin of the rebalance',
released_time  TIMESTAMP NOT NULL COMMENT 'time at which the last owner had given up the partition or had ended; may be before requested_time',
assigned_time  TIMESTAMP NOT NULL COMMENT 'time at which the next owner received the partition',
unowned_ms     BIGINT    NOT NULL COMMENT 'ms from released_time to assigned_time, as the coordinator knows it; time in which no process consumed is in ownership_gaps',
waited_for     STRING    NOT NULL COMMENT 'longest wait since requested_time: revocation (by the last owner; in classic groups the rejoin of all members), session (until the last owner''s session expired), heartbeat (of the next owner)',
evidence       STRING    NOT NULL COMMENT 'records; both if a line shows how the last owner left; in classic groups as in ownership_gaps',
estimated      BOOLEAN   NOT NULL COMMENT 'true if a time is inferred; in classic groups always true'
