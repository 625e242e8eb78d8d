-- advice: one row per group: the cheapest change that takes most of its unavailability away.
-- Key: (cluster_id, group_id)
-- Partitioned by: (cluster_id)
-- Written by: jobs.what_if_sweep
cluster_id                     STRING    NOT NULL COMMENT 'cluster',
group_id                       STRING    NOT NULL COMMENT 'consumer group',
setting                        STRING             COMMENT 'the change as KEY=VALUE, separated by spaces; null: nothing to gain, or not played',
saved_unavailable_partition_ms BIGINT    NOT NULL COMMENT 'predicted saving of partition-time without an owner, ms',
saved_not_stable_ms            BIGINT    NOT NULL COMMENT 'predicted saving of time in rebalances, ms',
saved_rebalances               INT       NOT NULL COMMENT 'predicted saving of rebalances; negative: more of them, and shorter',
share_saved                    DOUBLE    NOT NULL COMMENT 'share of the partition-time without an owner that is saved, 0 to 1',
sentence                       STRING    NOT NULL COMMENT 'why, in one sentence',
from_time                      TIMESTAMP          COMMENT 'begin of the span that was judged; null: not played',
to_time                        TIMESTAMP          COMMENT 'its end'
