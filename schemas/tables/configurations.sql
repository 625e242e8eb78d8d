-- configurations: one row per setting of a broker or group that is about groups: what was in force when the file was read or the Admin API was asked last.
-- Key: (cluster_id, entity_type, entity, name)
-- Partitioned by: (cluster_id)
-- Written by: jobs.ingest (--broker-config, --kafka), jobs.snapshot
cluster_id  STRING    NOT NULL COMMENT 'cluster',
entity_type STRING    NOT NULL COMMENT 'broker or group',
entity      STRING    NOT NULL COMMENT 'broker id, or the name of a file that has none; group',
name        STRING    NOT NULL COMMENT 'Kafka''s name of the setting; only settings of group coordinators and groups are stored',
value       STRING    NOT NULL COMMENT 'value',
is_default  BOOLEAN   NOT NULL COMMENT 'whether it is Kafka''s default (Admin API only; false for files)',
source      STRING    NOT NULL COMMENT 'the file it was read from, or: Admin API',
seen_time   TIMESTAMP NOT NULL COMMENT 'when the file was read or the Admin API was asked'
