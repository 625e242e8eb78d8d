-- rebalance_latency: one row per rebalance, how long it took, split at the join barrier.
-- Key: (cluster_id, group_id, incarnation, generation)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.rebalance_latency
cluster_id         STRING    NOT NULL COMMENT 'cluster',
group_id           STRING    NOT NULL COMMENT 'consumer group',
incarnation        INT       NOT NULL COMMENT 'life of the group',
generation         INT       NOT NULL COMMENT 'generation the rebalance made',
event_date         DATE      NOT NULL COMMENT 'UTC date of the generation',
preparing_time     TIMESTAMP          COMMENT 'start of the rebalance; null without a log',
end_time           TIMESTAMP          COMMENT 'assignment received, group empty, or the next rebalance took over',
join_ms            BIGINT             COMMENT 'ms in PreparingRebalance: waiting for everybody to join; null without a log',
sync_ms            BIGINT             COMMENT 'ms in CompletingRebalance: waiting for the leader''s assignment, or until superseded',
total_ms           BIGINT             COMMENT 'join_ms + sync_ms: ms not Stable; null without a log',
cause              STRING             COMMENT 'why: cause class',
outcome            STRING    NOT NULL COMMENT 'stable, empty, superseded, failed or unknown',
logical_rebalance  INT       NOT NULL COMMENT 'generation that began the logical rebalance this one belongs to: a cooperative second round and what follows a superseded generation count with the first',
round              INT       NOT NULL COMMENT '1 for the first rebalance of the logical one, 2 for the next, ...',
evidence           STRING    NOT NULL COMMENT 'records (sync phase only), log or both'
