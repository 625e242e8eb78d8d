-- group_days: one row per group and date on which it gave an event: where a later date's run takes up its history, and what it needs of all that was before.
-- Key: (cluster_id, group_id, event_date)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.group_days
cluster_id          STRING NOT NULL COMMENT 'cluster',
group_id            STRING NOT NULL COMMENT 'consumer group',
event_date          DATE   NOT NULL COMMENT 'UTC date of the events',
open_incarnation    INT             COMMENT 'life of the first generation that later dates may still complete; null: everything may change',
open_generation     INT             COMMENT 'that generation: the last one recorded some minutes before the date ended (without records, the last one told of)',
open_seq            BIGINT          COMMENT 'its first event',
context_incarnation INT             COMMENT 'life of the generation before, with which a later run begins to read; null: with the first',
context_generation  INT             COMMENT 'that generation: the one recorded before, or where none was, the one told of before',
context_seq         BIGINT          COMMENT 'its first event',
context_date        DATE            COMMENT 'UTC date of that generation',
unowned_partitions  ARRAY<STRUCT<
    topic: STRING COMMENT 'topic',
    partition: INT COMMENT 'partition',
    process: STRING COMMENT 'who had it last',
    member_id: STRING COMMENT 'under which member id'>> COMMENT 'partitions owned before the context generation in its life, and not in it',
shared_clients      ARRAY<STRUCT<
    client_id: STRING COMMENT 'client.id',
    client_host: STRING COMMENT 'address',
    since: DATE COMMENT 'date from which on it is known'>> COMMENT 'client ids and hosts that several processes have at once, as seen up to the context generation of its life',
gone_processes      ARRAY<STRUCT<
    process: STRING COMMENT 'process',
    until: DATE COMMENT 'date of the first generation without it'>> COMMENT 'processes that were members in the days before the context generation, and not in it'
