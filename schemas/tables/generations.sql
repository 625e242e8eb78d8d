-- generations: one row per generation with evidence in records, logs or both.
-- Key: (cluster_id, group_id, incarnation, generation)
-- Partitioned by: (cluster_id, event_date)
-- Written by: jobs.generations
cluster_id          STRING    NOT NULL COMMENT 'cluster',
group_id            STRING    NOT NULL COMMENT 'consumer group',
incarnation         INT       NOT NULL COMMENT 'incarnation of the group: 1, and one more each time the group was deleted and created again',
generation          INT       NOT NULL COMMENT 'generation within the incarnation',
event_date          DATE      NOT NULL COMMENT 'UTC date of the first event of the generation',
preparing_time      TIMESTAMP          COMMENT 'the group entered PreparingRebalance (log)',
joined_time         TIMESTAMP          COMMENT 'all members had joined: CompletingRebalance, or Empty without members (log, or the record''s state timestamp)',
stable_time         TIMESTAMP          COMMENT 'the leader sent the assignment: Stable (log, or the record''s time)',
ended_time          TIMESTAMP          COMMENT 'the next rebalance began or the group was deleted; null if neither has happened or been logged',
protocol            STRING             COMMENT 'assignor chosen by the members'' votes',
protocol_type       STRING             COMMENT 'consumer, connect, ...',
leader              STRING             COMMENT 'member id of the leader',
member_count        INT                COMMENT 'members when the join completed',
cause               STRING             COMMENT 'cause class of the rebalance',
reason              STRING             COMMENT 'reason in the broker''s words; null if it is not logged',
client_reason       STRING             COMMENT 'reason that the client sent (KIP-800)',
culprit_member_id   STRING             COMMENT 'member whose join, leave, expiry or change triggered the rebalance',
culprit_client_id   STRING             COMMENT 'client.id of that member, if a record has it',
culprit_client_host STRING             COMMENT 'address of that member, if a record has it',
outcome             STRING    NOT NULL COMMENT 'stable, empty, superseded (the next rebalance began before the leader synced), failed (the assignment could not be stored), unknown',
gap_before          INT                COMMENT 'missing generations right before this one: superseded, failed or compacted away; null for the first generation seen',
topic_partition     STRING             COMMENT 'partition of __consumer_offsets with the generation''s records',
first_offset        BIGINT             COMMENT 'offset of the generation''s first record',
last_offset         BIGINT             COMMENT 'offset of the generation''s last record (a static replacement writes another one)',
evidence            STRING    NOT NULL COMMENT 'records, log or both'
