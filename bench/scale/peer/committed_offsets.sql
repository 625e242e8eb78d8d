-- The records that the decoder reads; the generated day has no transactions.
SELECT cluster_id, topic_partition, log_offset, event_date, append_time, key, value, 'plain' AS outcome
FROM offsets_records
WHERE key_type IN (0, 1)
