-- q15_hot_partitions: the partitions of `__consumer_offsets` with the most bytes, and the group that wrote most of them.
SELECT
    p.cluster_id,                   -- cluster
    p.topic_partition,              -- partition of __consumer_offsets
    SUM(p.records) AS records,      -- records read from the partition
    SUM(p.bytes) AS bytes,          -- bytes of keys and values, uncompressed
    ROUND(100 * SUM(p.bytes) / SUM(SUM(p.bytes)) OVER (PARTITION BY p.cluster_id), 1) AS bytes_percent, -- share of the cluster's bytes
    COUNT(p.group_id) AS groups,    -- groups with records in the partition
    MAX_BY(p.group_id, p.bytes) AS hottest_group, -- group with the most bytes
    ROUND(100 * MAX(p.bytes) / SUM(p.bytes), 1) AS hottest_group_percent -- share of the partition's bytes by that group
FROM (
    SELECT
        cluster_id, topic_partition, group_id, SUM(records) AS records, SUM(bytes) AS bytes
    FROM q15_storage
    GROUP BY cluster_id, topic_partition, group_id
) AS p
GROUP BY p.cluster_id, p.topic_partition
ORDER BY cluster_id, bytes DESC, topic_partition
