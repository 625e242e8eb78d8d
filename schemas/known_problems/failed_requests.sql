-- failed_requests: one row per request of a group that ended with an exception in the broker.
SELECT
    broker_id, event_date, UNIX_MILLIS(event_time) AS at_ms, line, continuation AS exception,
    NULLIF(REGEXP_EXTRACT(line, 'group_?[Ii]d=[^A-Za-z0-9]?([A-Za-z0-9._-]+)', 1), '') AS group_id
FROM broker_log_events
WHERE event = 'OTHER' AND step = 'request_failed'
