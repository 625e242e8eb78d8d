-- q01_episodes: why each group rebalanced: its episodes by root cause, with their cost. Report the highest cost_ms first; group_start, shutdown and group_deleted are not incidents.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    kind,                           -- root cause, see table episodes
    COUNT(*) AS episodes,           -- episodes of this kind
    SUM(SIZE(processes)) AS processes, -- processes started, stopped, restarted or removed, summed over the episodes
    SUM(rebalances) AS rebalances,  -- rebalances, as in q01_most_rebalanced_groups
    SUM(not_stable_ms) AS not_stable_ms, -- ms in rebalances; null without a log
    SUM(unowned_partition_ms) AS unowned_partition_ms, -- partition downtime in ms, summed over partitions and over episodes with known downtime; null if no episode has a known downtime
    SUM(unowned_partition_ms_low) AS unowned_partition_ms_low, -- lower limit of unowned_partition_ms, see ownership_gaps
    SUM(unowned_partition_ms_high) AS unowned_partition_ms_high, -- upper limit of unowned_partition_ms, see ownership_gaps
    SUM(unserved_partition_ms) AS unserved_partition_ms, -- ms in which owners did not serve their partitions, see episode_unserved; null if owners served them all the time
    SUM(cost_ms) AS cost_ms,        -- ms without an owner or not served, summed over partitions; null if both are unknown for all episodes
    SUM(records_reprocessed) AS records_reprocessed, -- records handled again, estimated; null without commits
    SUM(partitions_moved) AS partitions_moved, -- partitions whose owner changed to another process; null without records
    MIN(from_time) AS first_time,   -- start of the first episode
    MAX(to_time) AS last_time,      -- end of the last episode
    MIN(confidence) AS confidence,  -- lowest confidence that the kind is right, 0 to 1
    CASE WHEN COUNT(*) = 1 THEN MIN(text) ELSE
        CASE kind
            WHEN 'group_start' THEN COUNT(*) || ' starts of the group'
            WHEN 'rolling_deployment' THEN COUNT(*) || ' rolling deployments'
            WHEN 'restart' THEN COUNT(*) || ' restarts, ' || SUM(SIZE(processes)) || ' processes'
            WHEN 'whole_group_restart' THEN COUNT(*) || ' restarts of the whole group'
            WHEN 'shutdown' THEN COUNT(*) || ' shutdowns'
            WHEN 'scale_out' THEN 'scale out by ' || SUM(SIZE(processes)) || ' processes'
            WHEN 'scale_in' THEN 'scale in by ' || SUM(SIZE(processes)) || ' processes'
            WHEN 'process_lost' THEN SUM(SIZE(processes)) || ' processes lost'
            WHEN 'host_lost' THEN COUNT(*) || ' hosts lost, ' || SUM(SIZE(processes)) || ' processes'
            WHEN 'process_frozen' THEN SUM(SIZE(processes)) || ' processes frozen or cut off'
            WHEN 'process_lost_or_frozen' THEN SUM(SIZE(processes)) || ' processes lost or frozen'
            WHEN 'slow_poll' THEN COUNT(*) || ' times max.poll.interval.ms exceeded'
            WHEN 'flapping_member' THEN SUM(SIZE(processes)) || ' flapping processes'
            WHEN 'instance_id_conflict' THEN COUNT(*) || ' conflicts of instance ids'
            WHEN 'group_full' THEN COUNT(*) || ' times the group had its maximum size'
            WHEN 'assignment_failed' THEN COUNT(*) || ' times the leader could not assign'
            WHEN 'topic_change' THEN COUNT(*) || ' changes of topics or partitions'
            WHEN 'configuration_change' THEN COUNT(*) || ' configuration changes'
            WHEN 'coordinator_failover' THEN COUNT(*) || ' coordinator failovers'
            WHEN 'group_deleted' THEN COUNT(*) || ' deletions of the group'
            ELSE COUNT(*) || ' episodes whose root cause is not in the evidence'
        END
        || ': '
        || CASE WHEN SUM(rebalances) = 1 THEN '1 rebalance, '
            WHEN SUM(rebalances) > 1 THEN SUM(rebalances) || ' rebalances, '
            WHEN SUM(SIZE(generations)) = 0 THEN 'no rebalance, ' ELSE '' END
        || CASE WHEN SUM(not_stable_ms) > 0
            THEN CAST(ROUND(SUM(not_stable_ms) / 1000) AS BIGINT) || ' s not stable, ' ELSE '' END
        || CASE WHEN SUM(unowned_partition_ms) > 0
            THEN CASE WHEN COUNT(unowned_partition_ms) < COUNT(*) OR SUM(rebalances_without_begin) > 0
                THEN 'at least ' ELSE '' END
                || CAST(ROUND(SUM(unowned_partition_ms) / 1000) AS BIGINT) || ' partition-seconds'
                || CASE WHEN SUM(unowned_partition_ms_high) - SUM(unowned_partition_ms_low) >= 500
                    THEN ' (' || CAST(ROUND(SUM(unowned_partition_ms_low) / 1000) AS BIGINT) || ' to '
                        || CAST(ROUND(SUM(unowned_partition_ms_high) / 1000) AS BIGINT) || ')'
                    ELSE '' END
            WHEN COUNT(unowned_partition_ms) < COUNT(*) THEN 'partition downtime unknown without records'
            WHEN SUM(rebalances_without_begin) > 0 THEN 'partition downtime unknown'
            ELSE 'no partition downtime' END
        || CASE WHEN SUM(rebalances_without_begin) > 0
            THEN ' (' || SUM(rebalances_without_begin) || ' of ' || SUM(rebalances) || ' rebalances without a logged begin)'
            ELSE '' END
        || CASE WHEN SUM(unserved_partition_ms) >= 500
            THEN ', ' || CAST(ROUND(SUM(unserved_partition_ms) / 1000) AS BIGINT) || ' partition-seconds owned but not served'
            ELSE '' END
        || CASE WHEN ROUND(SUM(records_reprocessed)) = 1 THEN ', 1 record handled again'
            WHEN ROUND(SUM(records_reprocessed)) > 1
            THEN ', ' || CAST(ROUND(SUM(records_reprocessed)) AS BIGINT) || ' records handled again'
            ELSE '' END
    END AS text                     -- the episodes of the kind in one sentence
FROM episode_costs
GROUP BY cluster_id, group_id, kind
ORDER BY cluster_id, cost_ms DESC NULLS LAST, group_id, kind
