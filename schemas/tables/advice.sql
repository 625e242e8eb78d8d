-- advice: one row per group: the cheapest change of settings that removes most of its partition downtime, with lines to paste, risk and alternatives.
-- Key: (cluster_id, group_id)
-- Partitioned by: (cluster_id)
-- Written by: jobs.what_if_sweep, jobs.nightly
cluster_id                     STRING    NOT NULL COMMENT 'cluster',
group_id                       STRING    NOT NULL COMMENT 'consumer group',
setting                        STRING             COMMENT 'the change as KEY=VALUE, separated by spaces, as in what_if; null if nothing is to be gained or the group could not be simulated',
saved_unavailable_partition_ms BIGINT    NOT NULL COMMENT 'partition downtime that the change saves, predicted, ms',
saved_not_stable_ms            BIGINT    NOT NULL COMMENT 'time in rebalances that the change saves, predicted, ms',
saved_rebalances               INT       NOT NULL COMMENT 'rebalances that the change saves, predicted; negative: more and shorter rebalances',
saved_moved_partitions         INT                COMMENT 'moved partitions that the change saves, predicted; null in rows of earlier versions',
share_saved                    DOUBLE    NOT NULL COMMENT 'saved share of the partition downtime, 0 to 1',
sentence                       STRING    NOT NULL COMMENT 'the change in Kafka''s names, its figures and its reason, in one sentence',
client_properties              STRING             COMMENT 'lines to paste into the configurations of consumers; an empty line separates lines for different places; null: no consumer changes',
broker_properties              STRING             COMMENT 'lines to paste into server.properties of each broker, and the command that sets a consumer group''s own configuration; null: neither',
risk                           STRING             COMMENT 'what the change costs or risks; null without a change',
rejected                       STRING             COMMENT 'the alternative that was rejected, its figures and the reason; null: no other change has an effect',
worse                          STRING             COMMENT 'changes that make a figure worse in every simulation, with this figure, one sentence per figure; null: none',
instance_ids                   STRING             COMMENT 'where group.instance.id of the advised change comes from: process: the process'' own name; ordinal: a name that lasts; null: it sets none',
assumption                     STRING             COMMENT 'what the prediction assumes of instance ids, and what the other source would change; null: nothing',
confidence                     DOUBLE             COMMENT 'how near the model of the unchanged settings comes to the observed rebalances and partition downtime: 1 equal, 0 not at all; at most 0.5 without a log; null if the group could not be simulated',
confidence_reason              STRING             COMMENT 'the figures behind confidence',
from_time                      TIMESTAMP          COMMENT 'start of the simulated span; null if the group could not be simulated',
to_time                        TIMESTAMP          COMMENT 'end of the simulated span',
settings_in_force              STRING             COMMENT 'the settings that the model assumes to be in force, each with its evidence: requests, records, a configuration file, the Admin API; settings without evidence are called assumed; null without a simulation and in rows of earlier versions',
makes_better                   STRING             COMMENT 'the figures that the change makes better in every simulation, each with the figure without the change: partition downtime, rebalances, time in rebalances, moved partitions, records reprocessed, consumption pauses; null: none',
makes_worse                    STRING             COMMENT 'the figures that the change makes worse in every simulation; null: none',
saved_records_reprocessed      BIGINT             COMMENT 'records reprocessed that the change saves, predicted; null without commits and in rows of earlier versions',
saved_consumption_pause_ms     BIGINT             COMMENT 'consumption pauses that the change saves, predicted, ms, summed over partitions; null without commits and in rows of earlier versions'
