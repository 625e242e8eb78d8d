-- failed_loads: one row per failed load or unload of a partition of __consumer_offsets.
SELECT
    broker_id, topic_partition, event, event_date, UNIX_MILLIS(event_time) AS at_ms, line,
    CONCAT(line, ' ', COALESCE(continuation, '')) AS error
FROM broker_log_events
WHERE event IN ('PARTITION_LOAD', 'PARTITION_UNLOAD') AND step = 'failed'
