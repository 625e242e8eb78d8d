-- target_times: one row per cluster with records of target assignments: their number, the number of records with the time at which the target was computed, and the number of records with the topics of a consumer group.
SELECT cluster_id,
    COUNT(CASE WHEN record LIKE '%TargetAssignmentMetadata' THEN 1 END) AS targets,
    COUNT(CASE WHEN record LIKE '%TargetAssignmentMetadata' THEN timestamp_ms END) AS timed,
    COUNT(CASE WHEN record = 'ConsumerGroupPartitionMetadata' THEN 1 END) AS topics
FROM group_records
WHERE NOT tombstone
    AND (record LIKE '%TargetAssignmentMetadata' OR record = 'ConsumerGroupPartitionMetadata')
GROUP BY cluster_id
