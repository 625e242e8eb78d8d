-- last_times: one row per table of events: the time of the cluster's last event in the table.
SELECT MAX(UNIX_MILLIS(append_time)) AS at_ms FROM group_metadata
UNION ALL SELECT MAX(UNIX_MILLIS(append_time)) FROM group_records
UNION ALL SELECT MAX(UNIX_MILLIS(append_time)) FROM committed_offsets
UNION ALL SELECT MAX(UNIX_MILLIS(event_time)) FROM group_events
