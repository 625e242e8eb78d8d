-- configurations: one row per broker or group, and setting of group coordinators or groups: the value when the file was read, or when the Admin API last described the setting.
-- Key: (cluster_id, entity_type, entity, name)
-- Partitioned by: (cluster_id)
-- Written by: jobs.ingest (--broker-config, --broker-log, --kafka), jobs.snapshot
cluster_id  STRING    NOT NULL COMMENT 'cluster',
entity_type STRING    NOT NULL COMMENT 'broker or group',
entity      STRING    NOT NULL COMMENT 'broker id, or the path of a file without a broker id; group id',
name        STRING    NOT NULL COMMENT 'Kafka''s name of the setting; only settings of group coordinators and groups are stored; kafka.version: the versions that a file about offered APIs and features shows',
value       STRING    NOT NULL COMMENT 'value',
is_default  BOOLEAN   NOT NULL COMMENT 'whether the value is Kafka''s default (Admin API only; false for files)',
source      STRING    NOT NULL COMMENT 'file that has the setting (for a log: its path and the words KafkaConfig values), or Admin API',
seen_time   TIMESTAMP NOT NULL COMMENT 'when the file was read (for a log: the date of its last line), or when the Admin API described the setting'
