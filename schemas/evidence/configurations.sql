-- configurations: one row per known setting of a broker or group. A broker logs all settings of a group in one line; the last line counts unless another source has settings of the group.
SELECT cluster_id, entity_type, entity, name, value, is_default, source FROM configurations
UNION ALL
SELECT
    cluster_id, 'group' AS entity_type, group_id AS entity,
    REGEXP_EXTRACT(setting, '^([a-z.]+) -> (.*)$', 1) AS name,
    REGEXP_EXTRACT(setting, '^([a-z.]+) -> (.*)$', 2) AS value,
    FALSE AS is_default,
    'line of a broker' AS source
FROM (
    SELECT cluster_id, group_id, EXPLODE(SPLIT(reason, ',')) AS setting
    FROM (
        SELECT
            cluster_id, group_id, reason,
            ROW_NUMBER() OVER (PARTITION BY cluster_id, group_id ORDER BY event_seq DESC) AS place
        FROM group_events
        WHERE event = 'GROUP_CONFIG'
    ) AS configured
    WHERE place = 1
) AS lines
