-- episodes: one row per episode: consecutive rebalances of a group with one root cause, and restarts that cause no rebalance. Each rebalance is in exactly one episode.
-- Key: (cluster_id, group_id, activity_time, episode)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.episodes
cluster_id               STRING        NOT NULL COMMENT 'cluster',
group_id                 STRING        NOT NULL COMMENT 'consumer group',
incarnation              INT           NOT NULL COMMENT 'incarnation of the group',
activity_time            TIMESTAMP     NOT NULL COMMENT 'start of the activity that contains the episode: rebalances with pauses of at most 15 minutes, within one incarnation; the activity ends at midnight UTC if it began an hour or more before',
episode                  INT           NOT NULL COMMENT 'number of the episode within the activity, from 1, in order of the first events',
event_date               DATE          NOT NULL COMMENT 'UTC date of the first event',
kind                     STRING        NOT NULL COMMENT 'root cause: group_start, rolling_deployment (restart in place, or surge with new names), restart, whole_group_restart, shutdown, scale_out, scale_in, process_lost (killed, or session expired and not back), host_lost (all processes of one of several hosts), process_frozen (session expired, and the process was back with its old state; also a network cut), process_lost_or_frozen (session expired, the process was back, and the evidence does not show whether it was killed or frozen), slow_poll (max.poll.interval.ms exceeded), flapping_member (departs three times, each time within a minute of its return, or more often with longer pauses; or a crash loop: each process replaces the previous process), instance_id_conflict, group_full (a client could not join: the group has its maximum size), assignment_failed (the leader could not assign), topic_change, configuration_change, coordinator_failover, group_deleted (by an administrator), unknown',
from_time                TIMESTAMP     NOT NULL COMMENT 'start: the first event, or the time since which a removed process had sent no heartbeat or had not polled',
to_time                  TIMESTAMP     NOT NULL COMMENT 'end of the last rebalance, or the last event',
processes                ARRAY<STRING> NOT NULL COMMENT 'processes that were started, stopped, restarted or removed, as in generation_members; if only lines show a member, its client id, or its member id if several members have this client id; summary has the host only if it is needed',
hosts                    ARRAY<STRING> NOT NULL COMMENT 'addresses of these processes',
first_generation         INT           NOT NULL COMMENT 'first generation; without rebalances, the current generation',
last_generation          INT           NOT NULL COMMENT 'last generation; other episodes may have generations in between',
generations              ARRAY<INT>    NOT NULL COMMENT 'generations that the episode''s rebalances made, including superseded and empty generations',
rebalances               INT           NOT NULL COMMENT 'rebalances as docs/metrics.md defines them',
not_stable_ms            BIGINT                 COMMENT 'ms not Stable in all these rebalances; null without a log',
unowned_partition_ms     BIGINT                 COMMENT 'partition downtime in ms, summed over partitions: the gaps of ownership_gaps that the episode''s rebalances and restarts ended; null if a record of its rebalances is missing, as with logs alone',
unowned_partition_ms_low  BIGINT                COMMENT 'lower limit of unowned_partition_ms, see ownership_gaps; null in rows of an earlier version, which have no range',
unowned_partition_ms_high BIGINT                COMMENT 'upper limit of unowned_partition_ms, see ownership_gaps; null in rows of an earlier version, which have no range',
rebalances_without_begin INT                    COMMENT 'number of rebalances whose begin no line shows, because the log of their coordinator is missing; if it is not 0, not_stable_ms and unowned_partition_ms are lower limits; null in a lake of an earlier version',
partitions_moved         INT                    COMMENT 'partitions whose owner changed to another process, summed over the rebalances; null if one of their records is missing',
summary                  STRING        NOT NULL COMMENT 'the episode in one sentence',
evidence                 STRING        NOT NULL COMMENT 'evidence for the root cause: log, records, commits, clients (clients'' logs), or several of them, separated by +',
confidence               DOUBLE        NOT NULL COMMENT '0 to 1: confidence that the kind is right',
activity_last_generation INT           NOT NULL COMMENT 'last generation of the activity; while this generation is open, a later run may still change the activity''s episodes (group_days)'
