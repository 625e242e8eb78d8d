-- what_if: one row per group and setting: the figures observed, and those predicted under other settings.
-- Key: (cluster_id, group_id, basis, setting)
-- Partitioned by: (cluster_id)
-- Written by: jobs.what_if_sweep, jobs.nightly
cluster_id                   STRING    NOT NULL COMMENT 'cluster',
group_id                     STRING    NOT NULL COMMENT 'consumer group',
setting                      STRING    NOT NULL COMMENT 'changed settings as KEY=VALUE, separated by spaces; unchanged: the group''s own settings',
basis                        STRING    NOT NULL COMMENT 'observed: from records and logs; model: simulated with the group''s own settings; predicted: simulated with the changed settings',
rebalances                   INT       NOT NULL COMMENT 'rebalances that became Stable; the median of the seeds, as are the next three columns',
not_stable_ms                BIGINT    NOT NULL COMMENT 'time from the start of each rebalance to its assignment, ms',
moved_partitions             INT       NOT NULL COMMENT 'partitions assigned to another process than their last owner',
unavailable_partition_ms     BIGINT    NOT NULL COMMENT 'partition downtime: time without an owner, from the first owner on, summed over partitions, ms',
rebalances_min               INT       NOT NULL COMMENT 'minimum of the seeds',
rebalances_max               INT       NOT NULL COMMENT 'maximum of the seeds',
not_stable_ms_min            BIGINT    NOT NULL COMMENT 'minimum of the seeds',
not_stable_ms_max            BIGINT    NOT NULL COMMENT 'maximum of the seeds',
moved_partitions_min         INT       NOT NULL COMMENT 'minimum of the seeds',
moved_partitions_max         INT       NOT NULL COMMENT 'maximum of the seeds',
unavailable_partition_ms_min BIGINT    NOT NULL COMMENT 'minimum of the seeds',
unavailable_partition_ms_max BIGINT    NOT NULL COMMENT 'maximum of the seeds',
seeds                        INT       NOT NULL COMMENT 'number of simulations, each with other times drawn from their intervals; 0 for observed figures',
era                          STRING    NOT NULL COMMENT 'era of the coordinator model',
from_time                    TIMESTAMP NOT NULL COMMENT 'start of the simulated span',
to_time                      TIMESTAMP NOT NULL COMMENT 'end of the simulated span: end of the last process or of the evidence'
