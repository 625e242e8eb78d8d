-- connect_generations: one row per generation of a group of Kafka Connect, from its record.
SELECT
    g.*, LAG(delay_ms) OVER (PARTITION BY group_id ORDER BY at_ms) AS last_delay_ms,
    LAG(assigned_config_offset) OVER (PARTITION BY group_id ORDER BY at_ms) AS last_config_offset
FROM (
    SELECT
        group_id, generation, event_date, MIN(at_ms) AS at_ms, MAX(delay_ms) AS delay_ms,
        MAX(assigned_config_offset) AS assigned_config_offset, MIN(error_code) AS error_code
    FROM member_tasks
    WHERE protocol_type = 'connect'
    GROUP BY group_id, generation, event_date
) g
