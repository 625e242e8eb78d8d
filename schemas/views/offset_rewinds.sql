-- offset_rewinds: commits of a lower offset than the one before: records that are consumed again, or a reset by hand.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    topic,                          -- topic
    partition,                      -- partition
    append_time,                    -- when it was committed
    previous_offset,                  -- offset committed before
    committed_offset,               -- offset committed now
    previous_offset - committed_offset AS reconsumed_records -- records between them, consumed again
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
