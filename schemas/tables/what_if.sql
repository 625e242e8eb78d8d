-- what_if: one row per group and setting: what it went through, and what it would have gone through.
-- Key: (cluster_id, group_id, basis, setting)
-- Partitioned by: (cluster_id)
-- Written by: jobs.what_if_sweep
cluster_id                     STRING    NOT NULL COMMENT 'cluster',
group_id                       STRING    NOT NULL COMMENT 'consumer group',
setting                        STRING    NOT NULL COMMENT 'changed settings as KEY=VALUE, separated by spaces; unchanged for what was',
basis                          STRING    NOT NULL COMMENT 'observed: from records and logs; model: the same settings through the models of client and coordinator; predicted: the changed settings through them',
rebalances                     INT       NOT NULL COMMENT 'generations whose assignment arrived; of several seeds the median, as are the next three',
not_stable_ms                  BIGINT    NOT NULL COMMENT 'from each start of a rebalance to its assignment, ms',
moved_partitions               INT       NOT NULL COMMENT 'partitions given to another process than the last that had them',
unavailable_partition_ms       BIGINT    NOT NULL COMMENT 'over all partitions, the time that no process had one since one first did, ms',
rebalances_min               INT       NOT NULL COMMENT 'least of the seeds',
rebalances_max                INT       NOT NULL COMMENT 'most of the seeds',
not_stable_ms_min            BIGINT    NOT NULL COMMENT 'least of the seeds',
not_stable_ms_max             BIGINT    NOT NULL COMMENT 'most of the seeds',
moved_partitions_min         INT       NOT NULL COMMENT 'least of the seeds',
moved_partitions_max          INT       NOT NULL COMMENT 'most of the seeds',
unavailable_partition_ms_min BIGINT    NOT NULL COMMENT 'least of the seeds',
unavailable_partition_ms_max  BIGINT    NOT NULL COMMENT 'most of the seeds',
seeds                          INT       NOT NULL COMMENT 'how often it was played, moments drawn anew from the intervals that they lay in; 0 for what was observed',
era                            STRING    NOT NULL COMMENT 'era of the coordinator',
from_time                      TIMESTAMP NOT NULL COMMENT 'begin of the span that is judged',
to_time                        TIMESTAMP NOT NULL COMMENT 'its end: the last process''s, or the evidence''s'
