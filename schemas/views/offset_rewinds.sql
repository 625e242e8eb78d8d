-- offset_rewinds: commits of a lower offset than the previous commit: an offset was reset, or an owner committed late. Records handled again without such a commit are in handover_costs.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    topic,                          -- topic
    partition,                      -- partition
    append_time,                    -- time of the commit
    previous_offset,                  -- previously committed offset
    committed_offset,               -- committed offset
    previous_offset - committed_offset AS reconsumed_records -- records between the two offsets, consumed again
FROM (
    SELECT
        *,
        LAG(committed_offset) OVER (
            PARTITION BY cluster_id, group_id, topic, partition ORDER BY topic_partition, log_offset
        ) AS previous_offset
    FROM committed_offsets
    WHERE outcome IN ('plain', 'committed')
) AS c
WHERE committed_offset < previous_offset
