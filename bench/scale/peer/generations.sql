-- One row per generation with a record.
WITH evidence AS (
    SELECT *, event_generation AS generation FROM timeline WHERE event_generation > 0
    UNION ALL BY NAME
    SELECT * REPLACE ('OVER' AS event), current_generation AS generation
    FROM timeline WHERE event = 'TOMBSTONE' AND current_generation > 0
), facts AS (
    SELECT
        cluster_id, group_id, incarnation, generation,
        min(event_date) AS event_date,
        arg_min({time: event_time, leader: member_id, member_count: member_count, protocol: protocol,
                 protocol_type: protocol_type, state_timestamp_ms: state_timestamp_ms, members: members}, seq)
            FILTER (event = 'RECORD') AS record,
        arg_min({protocol_type: protocol_type, state_timestamp_ms: state_timestamp_ms}, seq)
            FILTER (event = 'RECORD_EMPTY') AS empty,
        arg_min({time: event_time}, seq) FILTER (event = 'OVER') AS over_,
        min(log_offset) AS first_offset,
        max(log_offset) AS last_offset,
        max(topic_partition) AS topic_partition
    FROM evidence
    GROUP BY ALL
    HAVING record IS NOT NULL OR empty IS NOT NULL
), membership AS (
    SELECT *, CASE WHEN empty IS NOT NULL AND record IS NULL THEN [] ELSE record.members END AS members FROM facts
), compared AS (
    SELECT *,
        coalesce(
            last_value(members IGNORE NULLS) OVER (history ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
            CASE WHEN generation = 1 THEN [] END
        ) AS previous_members,
        generation - lag(generation) OVER history - 1 AS gap_before
    FROM membership
    WINDOW history AS (PARTITION BY cluster_id, group_id, incarnation ORDER BY generation)
), changed AS (
    SELECT *,
        list_filter(members, lambda member: NOT list_contains(previous_members, member)) AS joined,
        list_filter(previous_members, lambda member: NOT list_contains(members, member)) AS gone
    FROM compared
), caused AS (
    SELECT *,
        CASE
            WHEN len(joined) > 0 THEN 'MEMBER_NEW'
            WHEN len(gone) > 0 THEN 'MEMBER_GONE'
            WHEN record IS NOT NULL AND previous_members IS NOT NULL THEN 'REJOIN'
        END AS cause,
        CASE
            WHEN len(joined) = 1 THEN joined[1]
            WHEN coalesce(len(joined), 0) = 0 AND len(gone) = 1 THEN gone[1]
        END AS culprit_member_id
    FROM changed
), clients AS (
    SELECT cluster_id, group_id, member.member_id, max(member.client_id) AS client_id, max(member.client_host) AS client_host
    FROM (SELECT cluster_id, group_id, unnest(members) AS member FROM group_metadata)
    GROUP BY ALL
)
SELECT
    caused.cluster_id, caused.group_id, incarnation, generation, event_date, 'classic' AS group_type,
    make_timestamp_ms(coalesce(record.state_timestamp_ms, empty.state_timestamp_ms)) AS joined_time,
    record.time AS stable_time,
    over_.time AS ended_time,
    record.protocol AS protocol,
    coalesce(record.protocol_type, empty.protocol_type) AS protocol_type,
    record.leader AS leader,
    CASE WHEN record IS NOT NULL THEN record.member_count ELSE 0 END AS member_count,
    cause,
    culprit_member_id,
    coalesce(clients.client_id, nullif(regexp_extract(
        culprit_member_id, '^(.*)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$', 1
    ), '')) AS culprit_client_id,
    clients.client_host AS culprit_client_host,
    CASE WHEN empty IS NOT NULL THEN 'empty' ELSE 'stable' END AS outcome,
    gap_before,
    topic_partition, first_offset, last_offset,
    'records' AS evidence
FROM caused
LEFT JOIN clients
    ON clients.cluster_id = caused.cluster_id AND clients.group_id = caused.group_id
    AND clients.member_id = caused.culprit_member_id
