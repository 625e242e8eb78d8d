-- process_lives: one row per start of a process behind a group's members: who it is across restarts, when it ran, how it went.
-- Key: (cluster_id, group_id, process, life)
-- Partitioned by: (cluster_id)
-- Written by: jobs.what_if_sweep
cluster_id       STRING        NOT NULL COMMENT 'cluster',
group_id         STRING        NOT NULL COMMENT 'consumer group',
process          STRING        NOT NULL COMMENT 'its instance id, else its client id, with host and a number where these do not name one process',
life             INT           NOT NULL COMMENT 'number of the start, from 1',
incarnation      INT           NOT NULL COMMENT 'life of the group that it began in',
client_id        STRING                 COMMENT 'client.id',
client_host      STRING                 COMMENT 'address it joined from',
instance_id      STRING                 COMMENT 'group.instance.id of a static member',
member_ids       ARRAY<STRING> NOT NULL COMMENT 'member ids it had, in order',
started_time     TIMESTAMP     NOT NULL COMMENT 'when it first asked to join; of one that was there before the evidence begins, the first event',
ended_time       TIMESTAMP              COMMENT 'when it ended, as is most likely; null: it still runs',
ended_earliest_time TIMESTAMP              COMMENT 'earliest time that it can have ended',
ended_latest_time  TIMESTAMP              COMMENT 'latest time that it can have ended',
started_how      STRING        NOT NULL COMMENT 'start (with the group), restart (back within a minute), rolling_deploy, crash_restart, scale_out, return (later than a minute), unknown (it was there before)',
ended_how        STRING        NOT NULL COMMENT 'stopped (and came back), killed (silent, or a static member that was stopped for longer than its session), scale_in, shut_down (with the group), running',
deploy           INT                    COMMENT 'number of the group''s rolling deployment that began it, from 1',
slow_polls       ARRAY<STRUCT<from_time TIMESTAMP, to_time TIMESTAMP>> NOT NULL COMMENT 'spans in which the application was away from poll longer than max.poll.interval.ms; to_time null: it never came back',
flapping         BOOLEAN       NOT NULL COMMENT 'the process was put out or away from poll three times within an hour',
first_generation INT           NOT NULL COMMENT 'first generation it was in',
last_generation  INT           NOT NULL COMMENT 'last generation it was in',
confidence       DOUBLE        NOT NULL COMMENT '0 to 1: that these member ids are one process and that it went so',
evidence         STRING        NOT NULL COMMENT 'records (log@offset) and lines (broker, log:position) that tell of its coming and going'
