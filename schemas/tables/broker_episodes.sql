-- broker_episodes: one row per episode of a cluster's brokers: an upgrade, a rolling restart, a crash or a stop, with its cost for the groups. The rows come from the lines in which brokers' coordinators start and shut down.
-- Key: (cluster_id, from_time, first_broker_id)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.broker_episodes
cluster_id           STRING    NOT NULL COMMENT 'cluster',
from_time            TIMESTAMP NOT NULL COMMENT 'time at which the first of the brokers stopped',
first_broker_id      INT       NOT NULL COMMENT 'broker that stopped first',
event_date           DATE      NOT NULL COMMENT 'UTC date of from_time',
to_time              TIMESTAMP NOT NULL COMMENT 'time at which the last of the brokers started; if it did not return, the time at which it stopped',
kind                 STRING    NOT NULL COMMENT 'broker_upgrade or broker_downgrade (restarted with another version), rolling_broker_restart (one after another), broker_restart, broker_crash, broker_stop (not back in the evidence)',
brokers              ARRAY<STRUCT<
    broker_id: INT COMMENT 'broker',
    stopped_time: TIMESTAMP COMMENT 'time at which the broker''s coordinator shut down; if the broker was killed, time of the last record before the outage',
    started_time: TIMESTAMP COMMENT 'time at which the broker''s coordinator started; null if it did not return',
    killed: BOOLEAN COMMENT 'true if no line shows a shutdown, and the broker''s partitions temporarily had no coordinator; null if nothing shows how the broker stopped',
    from_version: STRING COMMENT 'version before the restart, from start-up lines, otherwise the versions that the broker''s wordings allow; null if unknown',
    to_version: STRING COMMENT 'version after, likewise'>> NOT NULL COMMENT 'the restarts, in order of time',
from_version         STRING             COMMENT 'version of the first broker before its restart; null if unknown',
to_version           STRING             COMMENT 'version of the first broker after its restart; null if unknown, or if it did not return',
groups               ARRAY<STRUCT<
    group_id: STRING COMMENT 'consumer group',
    moves: INT COMMENT 'times that a broker loaded the group as its new coordinator',
    rebalances: INT COMMENT 'rebalances in progress while the coordinator moved, and rebalances of the group''s coordinator_failover episodes',
    not_stable_ms: BIGINT COMMENT 'ms not Stable in these rebalances',
    unowned_partition_ms: BIGINT COMMENT 'partition downtime in ms of these moves, summed over partitions: gaps that were already open count from the move on, and coordinator_failover episodes count in full'>> NOT NULL COMMENT 'the groups whose coordinator moved or was missing, highest cost first',
moves                INT       NOT NULL COMMENT 'sum of moves over the groups',
rebalances           INT       NOT NULL COMMENT 'sum of rebalances over the groups',
not_stable_ms        BIGINT    NOT NULL COMMENT 'sum of not_stable_ms over the groups',
unowned_partition_ms BIGINT             COMMENT 'sum of unowned_partition_ms over the groups; null without records',
summary              STRING    NOT NULL COMMENT 'the episode in one sentence',
confidence           DOUBLE    NOT NULL COMMENT '0 to 1: confidence that the kind is right'
