-- One row per rebalance; a cooperative second round belongs to the logical rebalance of the first.
WITH followed AS (
    SELECT *, lead(generation) OVER history AS next_generation, lead(protocol) OVER history AS next_protocol
    FROM generations
    WINDOW history AS (PARTITION BY cluster_id, group_id, incarnation ORDER BY generation)
), owned_before AS (
    SELECT assignments.*, next_generation
    FROM assignments
    JOIN followed USING (cluster_id, group_id, incarnation, generation)
    WHERE contains(next_protocol, 'cooperative')
), withheld AS (
    SELECT cluster_id, group_id, incarnation, next_generation AS generation, count(*) AS partitions
    FROM owned_before
    WHERE NOT EXISTS (
        FROM assignments AS owned
        WHERE owned.cluster_id = owned_before.cluster_id AND owned.group_id = owned_before.group_id
            AND owned.incarnation = owned_before.incarnation AND owned.generation = owned_before.next_generation
            AND owned.topic = owned_before.topic AND owned.partition = owned_before.partition
    )
    GROUP BY ALL
), rounds AS (
    SELECT generations.*, coalesce(
        lag(generation) OVER history = generation - 1
        AND contains(lag(protocol) OVER history, 'cooperative')
        AND lag(withheld.partitions) OVER history > 0
        AND cause = 'REJOIN', false
    ) AS continues
    FROM generations
    LEFT JOIN withheld USING (cluster_id, group_id, incarnation, generation)
    WINDOW history AS (PARTITION BY cluster_id, group_id, incarnation ORDER BY generation)
), logical AS (
    SELECT *,
        CASE outcome WHEN 'empty' THEN joined_time ELSE stable_time END AS to_time,
        last_value(CASE WHEN NOT continues THEN generation END IGNORE NULLS) OVER (
            PARTITION BY cluster_id, group_id, incarnation ORDER BY generation
        ) AS logical_rebalance
    FROM rounds
)
SELECT
    cluster_id, group_id, incarnation, generation, event_date, to_time,
    greatest(epoch_ms(to_time) - epoch_ms(joined_time), 0) AS sync_ms,
    cause, outcome, logical_rebalance, generation - logical_rebalance + 1 AS round, evidence
FROM logical
