-- Records in the order of their log, with incarnation and generation.
WITH records AS (
    SELECT
        cluster_id, group_id, event_date, append_time, topic_partition, log_offset, protocol,
        protocol_type, state_timestamp_ms, leader,
        [member.member_id FOR member IN members] AS members,
        CASE WHEN tombstone THEN 'TOMBSTONE' WHEN len(members) = 0 THEN 'RECORD_EMPTY' ELSE 'RECORD' END AS event,
        CASE WHEN generation > 0 THEN generation END AS event_generation,
        CASE WHEN append_time IS NOT NULL THEN
            max(epoch_ms(append_time)) OVER (PARTITION BY cluster_id, group_id, topic_partition, event_date ORDER BY log_offset)
        END AS timed_ms
    FROM group_metadata
), timed AS (
    SELECT *, coalesce(
        last_value(timed_ms IGNORE NULLS) OVER (PARTITION BY cluster_id, group_id, topic_partition ORDER BY log_offset), 0
    ) AS order_ms
    FROM records
), ordered AS (
    SELECT *, order_ms * 100000 + 50000 + row_number() OVER (
        PARTITION BY cluster_id, group_id, order_ms ORDER BY topic_partition, log_offset
    ) AS seq
    FROM timed
), recreated AS (
    SELECT *, coalesce(event <> 'TOMBSTONE' AND lag(event) OVER history = 'TOMBSTONE', false) AS recreated
    FROM ordered
    WINDOW history AS (PARTITION BY cluster_id, group_id ORDER BY seq)
), numbered AS (
    SELECT *, sum(recreated::INT) OVER (PARTITION BY cluster_id, group_id ORDER BY seq) AS recreations
    FROM recreated
), compared AS (
    SELECT *, last_value(
        CASE WHEN event_generation IS NOT NULL THEN {generation: event_generation, time: append_time} END IGNORE NULLS
    ) OVER (
        PARTITION BY cluster_id, group_id, recreations ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS previous
    FROM numbered
), incarnations AS (
    SELECT *, 1 + sum((recreated OR coalesce(event_generation < previous.generation AND NOT (
        event_generation = previous.generation - 1
        AND epoch_ms(append_time) - epoch_ms(previous.time) <= 100
    ), false))::INT) OVER (PARTITION BY cluster_id, group_id ORDER BY seq) AS incarnation
    FROM compared
), generations AS (
    SELECT *, coalesce(
        last_value(event_generation IGNORE NULLS) OVER (PARTITION BY cluster_id, group_id, incarnation ORDER BY seq),
        last_value(event_generation - 1 IGNORE NULLS) OVER (PARTITION BY cluster_id, group_id, incarnation ORDER BY seq DESC)
    ) AS current_generation
    FROM incarnations
)
SELECT
    cluster_id, group_id, seq, event_date, append_time AS event_time, incarnation, event, event_generation,
    current_generation, current_generation + 1 AS forming_generation, leader AS member_id, len(members) AS member_count,
    members, topic_partition, log_offset, protocol, protocol_type, state_timestamp_ms
FROM generations
