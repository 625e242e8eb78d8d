-- broker_versions: one row per log of a broker and wording, with one of the log's lines; one row per log whose lines name software or show what brokers offer; and one row per configuration file that shows what brokers offer.
SELECT cluster_id, file_id, TRUE AS is_of_broker, MIN(line) AS line, MIN(reason) AS reason, CAST(NULL AS STRING) AS software
FROM broker_log_events
GROUP BY cluster_id, file_id, event, step, logger, cause
UNION ALL
SELECT cluster_id, file AS file_id, source = 'broker_log' AS is_of_broker, NULL AS line, NULL AS reason, software
FROM ingested_files
WHERE source IN ('broker_log', 'client_log') AND software IS NOT NULL
UNION ALL
SELECT cluster_id, source AS file_id, FALSE AS is_of_broker, NULL AS line, NULL AS reason, CONCAT('broker ', value) AS software
FROM configurations
WHERE name = 'kafka.version'
