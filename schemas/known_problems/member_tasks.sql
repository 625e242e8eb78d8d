-- member_tasks: one row per record and member of a group of Kafka Connect, or of Kafka Streams under the classic protocol.
SELECT
    group_id, generation, protocol_type, leader, log_offset, event_date, at_ms,
    worker.member_id AS member_id, worker.version AS version,
    worker.config_offset AS config_offset,
    worker.assigned_config_offset AS assigned_config_offset, worker.delay_ms AS delay_ms,
    worker.next_rebalance_ms AS next_rebalance_ms, worker.error_code AS error_code
FROM (
    SELECT
        group_id, generation, protocol_type, leader, log_offset, event_date,
        UNIX_MILLIS(append_time) AS at_ms, EXPLODE(task_members) AS worker
    FROM group_metadata
    WHERE NOT tombstone AND task_members IS NOT NULL
) w
