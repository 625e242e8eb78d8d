-- group_days: one row per group and date with events of the group. A row says where a run for later dates begins to read the group's history, and has the facts about older generations that the run needs.
-- Key: (cluster_id, group_id, event_date)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.group_days
cluster_id          STRING NOT NULL COMMENT 'cluster',
group_id            STRING NOT NULL COMMENT 'consumer group',
event_date          DATE   NOT NULL COMMENT 'UTC date of the events',
open_incarnation    INT             COMMENT 'incarnation of the open generation; null if all generations are open',
open_generation     INT             COMMENT 'the open generation: the first generation that events of later dates may still change. The open generation is the last generation recorded (without records: logged) some minutes before the date ended',
open_seq            BIGINT          COMMENT 'seq of the open generation''s first event',
context_incarnation INT             COMMENT 'incarnation of the context generation; null if a later run reads all generations',
context_generation  INT             COMMENT 'the context generation, with which a later run begins to read: the last generation recorded (without records: logged) before the open generation',
context_seq         BIGINT          COMMENT 'seq of the context generation''s first event',
context_date        DATE            COMMENT 'UTC date of the context generation',
unowned_partitions  ARRAY<STRUCT<
    topic: STRING COMMENT 'topic',
    partition: INT COMMENT 'partition',
    process: STRING COMMENT 'last owner',
    member_id: STRING COMMENT 'member id of the last owner'>> COMMENT 'partitions that were owned earlier in the incarnation of the context generation, but not in the context generation',
shared_clients      ARRAY<STRUCT<
    client_id: STRING COMMENT 'client.id',
    client_host: STRING COMMENT 'address',
    since: DATE COMMENT 'date of the first generation that shows several processes'>> COMMENT 'client ids and hosts that several processes had at the same time up to the context generation, in its incarnation',
gone_processes      ARRAY<STRUCT<
    process: STRING COMMENT 'process',
    until: DATE COMMENT 'date of the first generation without the process'>> COMMENT 'processes that were members in the days before the context generation, but not in that generation'
