-- process_lives: one row per process life: one lifetime of a consumer process, from start to exit, with its member ids.
-- Key: (cluster_id, group_id, process, name, life)
-- Partitioned by: (cluster_id)
-- Written by: jobs.what_if_sweep
cluster_id          STRING        NOT NULL COMMENT 'cluster',
group_id            STRING        NOT NULL COMMENT 'consumer group',
process             STRING        NOT NULL COMMENT 'process, as in generation_members, of the last of these member ids; if no record has any of the member ids, the name',
life                INT           NOT NULL COMMENT 'number of the process life, from 1, in order per name',
incarnation         INT           NOT NULL COMMENT 'incarnation of the group when the process life began',
client_id           STRING                 COMMENT 'client.id',
client_host         STRING                 COMMENT 'address of the process',
instance_id         STRING                 COMMENT 'group.instance.id of a static member',
member_ids          ARRAY<STRING> NOT NULL COMMENT 'member ids of the process, in order',
from_time           TIMESTAMP     NOT NULL COMMENT 'time of the first JoinGroup; time of the first event if the process life began before the evidence',
to_time             TIMESTAMP              COMMENT 'most likely time of the end; null while the process runs',
ended_earliest_time TIMESTAMP              COMMENT 'earliest possible time of the end',
ended_latest_time   TIMESTAMP              COMMENT 'latest possible time of the end',
started_how         STRING        NOT NULL COMMENT 'start (with the group), restart (back within a minute), rolling_deploy, crash_restart, scale_out, return (later than a minute), unknown (began before the evidence)',
ended_how           STRING        NOT NULL COMMENT 'stopped (and came back), session_expired (killed, frozen or cut off; also a static member that was stopped for longer than its session timeout), scale_in, shut_down (with the group), running',
deploy              INT                    COMMENT 'number of the group''s rolling deployment that started the process, from 1',
slow_polls          ARRAY<STRUCT<from_time TIMESTAMP, to_time TIMESTAMP>> NOT NULL COMMENT 'spans in which the application did not poll for longer than max.poll.interval.ms; to_time is null if the application never polled again',
flapping            BOOLEAN       NOT NULL COMMENT 'true if the process was removed or exceeded max.poll.interval.ms three times within an hour',
first_generation    INT           NOT NULL COMMENT 'first generation with one of these member ids',
last_generation     INT           NOT NULL COMMENT 'last generation with one of these member ids',
confidence          DOUBLE        NOT NULL COMMENT '0 to 1: confidence that these member ids are one process and that start and end are right',
evidence            STRING        NOT NULL COMMENT 'records (log@offset) and lines (broker, log:position) that show start and end',
name                STRING                 COMMENT 'name that all lives of one process have, even if a new member id or client id makes it another process in generation_members: the instance id, else the client id, with host and a number if several processes have the same; null in rows of earlier versions'
