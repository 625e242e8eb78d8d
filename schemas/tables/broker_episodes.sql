-- broker_episodes: one row per episode of a cluster's brokers: an upgrade, a rolling restart, a crash or a stop, with what it cost the groups. From the lines in which brokers' coordinators start and shut down.
-- Key: (cluster_id, from_time, first_broker_id)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.broker_episodes
cluster_id           STRING    NOT NULL COMMENT 'cluster',
from_time            TIMESTAMP NOT NULL COMMENT 'the first of the brokers stopped',
first_broker_id      INT       NOT NULL COMMENT 'the first of the brokers that stopped',
event_date           DATE      NOT NULL COMMENT 'UTC date of from_time',
to_time              TIMESTAMP NOT NULL COMMENT 'the last of the brokers started; if it was not back, stopped',
kind                 STRING    NOT NULL COMMENT 'broker_upgrade or broker_downgrade (restarted with another version), rolling_broker_restart (one after another), broker_restart, broker_crash, broker_stop (not back in the evidence)',
brokers              ARRAY<STRUCT<
    broker_id: INT COMMENT 'broker',
    stopped_time: TIMESTAMP COMMENT 'its coordinator shut down; if killed, the last record before the outage',
    started_time: TIMESTAMP COMMENT 'its coordinator started; null if it was not back',
    killed: BOOLEAN COMMENT 'no line about a shutdown, and its partitions had no coordinator for a while; null if nothing shows how it stopped',
    from_version: STRING COMMENT 'version before, from its start-up lines, else the versions that its wordings allow; null if unknown',
    to_version: STRING COMMENT 'version after, likewise'>> NOT NULL COMMENT 'the restarts, in order of time',
from_version         STRING             COMMENT 'version of the first broker before; null if unknown',
to_version           STRING             COMMENT 'version of the first broker after; null if unknown, or if it was not back',
groups               ARRAY<STRUCT<
    group_id: STRING COMMENT 'consumer group',
    moves: INT COMMENT 'times that a broker loaded the group as its new coordinator',
    rebalances: INT COMMENT 'rebalances in progress while it moved, and those of its episodes coordinator_failover',
    not_stable_ms: BIGINT COMMENT 'ms not Stable in these rebalances',
    unowned_partition_ms: BIGINT COMMENT 'partition downtime in ms of these moves, summed over partitions: of gaps that were open, from the move on; of episodes coordinator_failover'>> NOT NULL COMMENT 'the groups whose coordinator moved or was gone, the costliest first',
moves                INT       NOT NULL COMMENT 'sum over the groups',
rebalances           INT       NOT NULL COMMENT 'sum over the groups',
not_stable_ms        BIGINT    NOT NULL COMMENT 'sum over the groups',
unowned_partition_ms BIGINT             COMMENT 'sum over the groups; null without records',
summary              STRING    NOT NULL COMMENT 'the episode in one sentence',
confidence           DOUBLE    NOT NULL COMMENT '0 to 1: confidence that the kind is right'
