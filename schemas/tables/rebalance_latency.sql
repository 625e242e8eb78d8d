-- rebalance_latency: one row per rebalance: the duration of its join phase and of its sync phase.
-- Key: (cluster_id, group_id, incarnation, generation)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.rebalance_latency
cluster_id         STRING    NOT NULL COMMENT 'cluster',
group_id           STRING    NOT NULL COMMENT 'consumer group',
incarnation        INT       NOT NULL COMMENT 'incarnation of the group',
generation         INT       NOT NULL COMMENT 'generation that the rebalance made',
event_date         DATE      NOT NULL COMMENT 'UTC date of the generation',
preparing_time     TIMESTAMP          COMMENT 'start of the rebalance; null without a log',
to_time            TIMESTAMP          COMMENT 'end of the rebalance: assignment received, group empty, or superseded by the next rebalance',
join_ms            BIGINT             COMMENT 'ms in PreparingRebalance: waiting for all members to join; null without a log, and if the times are out of order or more than 2^31 ms apart (a clock was set); consumer, share and streams groups: ms in Assigning',
sync_ms            BIGINT             COMMENT 'ms in CompletingRebalance: waiting for the leader''s assignment, or until superseded; null as in join_ms; consumer, share and streams groups: ms in Reconciling',
total_ms           BIGINT             COMMENT 'join_ms + sync_ms: ms not Stable; null if join_ms or sync_ms is null',
cause              STRING             COMMENT 'cause class',
outcome            STRING    NOT NULL COMMENT 'stable, empty, superseded, failed or unknown',
logical_rebalance  INT       NOT NULL COMMENT 'first generation of the logical rebalance: a second cooperative round, and the rebalance after a superseded or failed rebalance, belong to the same logical rebalance',
round              INT       NOT NULL COMMENT 'number of the rebalance within the logical rebalance, from 1',
evidence           STRING    NOT NULL COMMENT 'records (sync phase only), log or both; clients if only clients'' logs show the rebalance'
