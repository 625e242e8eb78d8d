-- advice: one row per group: the cheapest change of settings that removes most of its partition downtime.
-- Key: (cluster_id, group_id)
-- Partitioned by: (cluster_id)
-- Written by: jobs.what_if_sweep
cluster_id                     STRING    NOT NULL COMMENT 'cluster',
group_id                       STRING    NOT NULL COMMENT 'consumer group',
setting                        STRING             COMMENT 'the change as KEY=VALUE, separated by spaces; null if nothing is to be gained or the group could not be simulated',
saved_unavailable_partition_ms BIGINT    NOT NULL COMMENT 'partition downtime that the change saves, predicted, ms',
saved_not_stable_ms            BIGINT    NOT NULL COMMENT 'time in rebalances that the change saves, predicted, ms',
saved_rebalances               INT       NOT NULL COMMENT 'rebalances that the change saves, predicted; negative: more and shorter rebalances',
share_saved                    DOUBLE    NOT NULL COMMENT 'saved share of the partition downtime, 0 to 1',
sentence                       STRING    NOT NULL COMMENT 'the reason, in one sentence',
from_time                      TIMESTAMP          COMMENT 'start of the simulated span; null if the group could not be simulated',
to_time                        TIMESTAMP          COMMENT 'end of the simulated span'
