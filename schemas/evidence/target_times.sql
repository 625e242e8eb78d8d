-- target_times: one row per cluster with records of target assignments: their number, and the number of records with the time at which the target was computed.
SELECT cluster_id, COUNT(*) AS targets, COUNT(timestamp_ms) AS timed
FROM group_records
WHERE record LIKE '%TargetAssignmentMetadata' AND NOT tombstone
GROUP BY cluster_id
