-- broker_versions: one row per log of a broker and wording, with one of its lines, and one row per log whose start-up lines name software.
SELECT cluster_id, file_id, MIN(line) AS line, MIN(reason) AS reason, CAST(NULL AS STRING) AS software
FROM broker_log_events
GROUP BY cluster_id, file_id, event, step, logger, cause
UNION ALL
SELECT cluster_id, file AS file_id, NULL AS line, NULL AS reason, software
FROM ingested_files
WHERE source = 'broker_log' AND software IS NOT NULL
