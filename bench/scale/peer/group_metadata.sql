-- The records that the decoder reads.
SELECT cluster_id, topic_partition, log_offset, event_date, append_time, key, value
FROM offsets_records
WHERE key_type = 2
