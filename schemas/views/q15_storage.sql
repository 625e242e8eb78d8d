-- q15_storage: records and bytes per group, date and partition of `__consumer_offsets`.
WITH decoded AS (
    SELECT cluster_id, topic_partition, log_offset, event_date, group_id, tombstone, 1 AS is_commit
    FROM committed_offsets
    UNION ALL
    SELECT cluster_id, topic_partition, log_offset, event_date, group_id, tombstone, 0 AS is_commit
    FROM group_metadata
    UNION ALL
    SELECT cluster_id, topic_partition, log_offset, event_date, group_id, tombstone, 0 AS is_commit
    FROM group_records
)
SELECT
    r.cluster_id,                   -- cluster
    d.group_id,                     -- consumer group; null for transaction markers and unreadable records
    r.event_date,                   -- UTC date
    r.topic_partition,              -- partition of __consumer_offsets
    COUNT(*) AS records,            -- number of records
    SUM(CASE WHEN d.is_commit = 1 THEN 1 ELSE 0 END) AS commit_records, -- offset commits
    SUM(CASE WHEN d.is_commit = 0 THEN 1 ELSE 0 END) AS group_records, -- records of the group itself
    SUM(CASE WHEN d.tombstone THEN 1 ELSE 0 END) AS tombstones, -- tombstones
    SUM(COALESCE(OCTET_LENGTH(r.key), 0) + COALESCE(OCTET_LENGTH(r.value), 0)) AS bytes -- bytes of keys and values, uncompressed
FROM offsets_records r
LEFT JOIN decoded d
    ON d.cluster_id = r.cluster_id AND d.event_date = r.event_date
    AND d.topic_partition = r.topic_partition AND d.log_offset = r.log_offset
GROUP BY r.cluster_id, d.group_id, r.event_date, r.topic_partition
ORDER BY cluster_id, bytes DESC, group_id, event_date, topic_partition
