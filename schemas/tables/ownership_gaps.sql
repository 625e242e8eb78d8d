-- ownership_gaps: one row per partition and time without an owner. Partition downtime is the sum of unowned_ms; its limits are the sums of unowned_ms_low and unowned_ms_high.
-- Key: (cluster_id, group_id, incarnation, topic, partition, from_time)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.ownership_gaps
cluster_id      STRING    NOT NULL COMMENT 'cluster',
group_id        STRING    NOT NULL COMMENT 'group',
incarnation     INT       NOT NULL COMMENT 'incarnation of the group',
topic           STRING    NOT NULL COMMENT 'topic',
partition       INT       NOT NULL COMMENT 'partition of the topic',
event_date      DATE      NOT NULL COMMENT 'UTC date of the generation that ended the gap; date of to_time if a static replacement ended it, or the group is not classic; while the gap is open, date of the group''s last event',
from_time       TIMESTAMP NOT NULL COMMENT 'time at which the last owner stopped, or revoked the partition',
to_time         TIMESTAMP          COMMENT 'time at which the next owner received its assignment, or the group was shut down; for a group that changed its protocol while it was empty, time of the first assignment in its next incarnation; null while the gap is open',
unowned_ms      BIGINT    NOT NULL COMMENT 'ms from from_time to to_time; for an open gap, ms to the cluster''s last event on event_date',
unowned_ms_low  BIGINT             COMMENT 'unowned_ms if the evidence is read so that the gap is shortest; less than unowned_ms if the process may have been frozen, and owned the partition until it was back; null in rows of an earlier version: as unowned_ms',
unowned_ms_high BIGINT             COMMENT 'unowned_ms if the evidence is read so that the gap is longest; more than unowned_ms if a static member may have been closed at its last commit; null in rows of an earlier version: as unowned_ms',
from_process    STRING    NOT NULL COMMENT 'process that owned the partition last, with the same name across restarts, as in generation_members',
to_process      STRING             COMMENT 'next owner; null while the gap is open, after a shutdown, and in another incarnation',
from_generation INT       NOT NULL COMMENT 'generation in which the partition was assigned to the last owner',
generation      INT                COMMENT 'generation that ended the gap, because it assigned the partition, or was empty after a shutdown; for a static replacement the current generation; null while the gap is open',
why             STRING    NOT NULL COMMENT 'why the last owner stopped: left, replaced (a static member stopped, and the next process with its instance id took over), session_expired, dropped (removed, because it did not rejoin, sync or give up partitions in time), no_heartbeat (it sends no heartbeats, but its session has not expired), rebalance (it revoked the partition, and got it back), revoked (it revoked the partition, and another process got it), not_assigned (it revoked the partition, and the next generation assigned it to nobody)',
evidence        STRING    NOT NULL COMMENT 'evidence for from_time: log, records, or commits (the last commit before the end of a process)',
estimated       BOOLEAN   NOT NULL COMMENT 'true if from_time is inferred, because neither a log line nor a record has it'
