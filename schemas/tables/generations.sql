-- generations: one row per generation of a group that left a trace, from records, logs or both.
-- Key: (cluster_id, group_id, incarnation, generation)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.generations
cluster_id          STRING    NOT NULL COMMENT 'cluster',
group_id            STRING    NOT NULL COMMENT 'consumer group',
incarnation         INT       NOT NULL COMMENT 'life of the group: 1, and one more each time it died and was born again',
generation          INT       NOT NULL COMMENT 'generation within that life',
event_date          DATE      NOT NULL COMMENT 'UTC date of the first event of the generation',
preparing_time      TIMESTAMP          COMMENT 'the group entered PreparingRebalance (log)',
joined_time         TIMESTAMP          COMMENT 'the join barrier fell: CompletingRebalance, or Empty if nobody was left (log, or the record''s state timestamp)',
stable_time         TIMESTAMP          COMMENT 'the leader''s assignment arrived: Stable (log, or the record''s time)',
ended_time          TIMESTAMP          COMMENT 'the next rebalance began or the group died; null while it lasts or where no log says',
protocol            STRING             COMMENT 'assignor chosen by the vote',
protocol_type       STRING             COMMENT 'consumer, connect, ...',
leader              STRING             COMMENT 'member id of the leader',
member_count        INT                COMMENT 'members when the join completed',
cause               STRING             COMMENT 'why the rebalance was prepared: cause class',
reason              STRING             COMMENT 'why, in the broker''s words; null where the broker gave none',
client_reason       STRING             COMMENT 'why, in the client''s words (KIP-800)',
culprit_member_id   STRING             COMMENT 'member whose join, leave, expiry or change began it',
culprit_client_id   STRING             COMMENT 'client.id of that member, where a record names it',
culprit_client_host STRING             COMMENT 'address of that member, where a record names it',
outcome             STRING    NOT NULL COMMENT 'stable, empty, superseded (the next rebalance began before the leader synced), failed (the assignment could not be stored), unknown',
gap_before          INT                COMMENT 'generations right before this one that left no trace: superseded, failed or compacted away; null for the first one seen',
topic_partition     STRING             COMMENT 'log its records lie in',
first_offset        BIGINT             COMMENT 'offset of its first record',
last_offset         BIGINT             COMMENT 'offset of its last record (static replacements write more than one)',
evidence            STRING    NOT NULL COMMENT 'records, log or both'
