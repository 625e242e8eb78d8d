-- configurations: one row per known setting of a broker or group.
SELECT cluster_id, entity_type, entity, name, value, is_default, source FROM configurations
