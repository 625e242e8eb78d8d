-- offsets_back: commits of a lower offset than the one before: records that are consumed again, or a reset by hand.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    topic,                          -- topic
    partition,                      -- partition
    append_time,                    -- when it was committed
    offset_before,                  -- offset committed before
    committed_offset,               -- offset committed now
    offset_before - committed_offset AS records_again -- records between them, consumed again
FROM (
    SELECT
        *,
        LAG(committed_offset) OVER (
            PARTITION BY cluster_id, group_id, topic, partition ORDER BY topic_partition, log_offset
        ) AS offset_before
    FROM committed_offsets
    WHERE outcome IN ('plain', 'committed')
) AS c
WHERE committed_offset < offset_before
