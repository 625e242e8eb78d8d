-- q15_storage: records and bytes that each group wrote into `__consumer_offsets` on each date.
WITH decoded AS (
    SELECT cluster_id, topic_partition, log_offset, event_date, group_id, tombstone, 1 AS is_commit
    FROM committed_offsets
    UNION ALL
    SELECT cluster_id, topic_partition, log_offset, event_date, group_id, tombstone, 0 AS is_commit
    FROM group_metadata
)
SELECT
    r.cluster_id,                   -- cluster
    d.group_id,                     -- consumer group; null of transaction markers, records of newer group types and unreadable ones
    r.event_date,                   -- UTC date
    r.topic_partition,              -- log they lie in
    COUNT(*) AS records,            -- records
    SUM(CASE WHEN d.is_commit = 1 THEN 1 ELSE 0 END) AS commit_records, -- of these: offset commits
    SUM(CASE WHEN d.is_commit = 0 THEN 1 ELSE 0 END) AS group_records, -- of these: of the group itself
    SUM(CASE WHEN d.tombstone THEN 1 ELSE 0 END) AS tombstones, -- of these: tombstones
    SUM(COALESCE(OCTET_LENGTH(r.key), 0) + COALESCE(OCTET_LENGTH(r.value), 0)) AS bytes -- bytes of their keys and values, uncompressed
FROM offsets_records r
LEFT JOIN decoded d
    ON d.cluster_id = r.cluster_id AND d.event_date = r.event_date
    AND d.topic_partition = r.topic_partition AND d.log_offset = r.log_offset
GROUP BY r.cluster_id, d.group_id, r.event_date, r.topic_partition
