-- failed_requests: one row per request of a group that ended with an exception in the broker.
-- defect: the id of the known problem with this exception; null for an unknown exception.
SELECT
    broker_id, event_date, UNIX_MILLIS(event_time) AS at_ms, line,
    NULLIF(REGEXP_EXTRACT(line, 'group_?[Ii]d=[^A-Za-z0-9]?([A-Za-z0-9._-]+)', 1), '') AS group_id,
    CASE
        WHEN continuation LIKE '%UnsupportedVersionException%groupInstanceId%' THEN 'KAFKA-14422'
        WHEN continuation LIKE '%NoSuchElementException%GroupMetadata.generateMemberId%'
            THEN 'KAFKA-8715'
        WHEN continuation LIKE '%NoSuchElementException%tryCompleteHeartbeat%' THEN 'KAFKA-8896'
    END AS defect
FROM broker_log_events
WHERE event = 'OTHER' AND step = 'request_failed'
