-- rebalance_counts: whether each generation counts as a rebalance, an aborted rebalance, or neither (docs/metrics.md). All counts of rebalances are sums of these columns.
SELECT
    cluster_id,                     -- cluster
    group_id,                       -- consumer group
    incarnation,                    -- incarnation of the group
    generation,                     -- generation
    event_date,                     -- UTC date of the generation
    CASE
        WHEN COALESCE(group_type, 'classic') <> 'classic' THEN CASE WHEN outcome = 'empty' THEN 0 ELSE 1 END
        WHEN outcome = 'unknown' AND COALESCE(evidence, '') = 'clients' THEN NULL
        ELSE CASE WHEN outcome = 'stable' THEN 1 ELSE 0 END
    END AS rebalances,              -- 1 for a rebalance, else 0: a generation of a classic group that became Stable, or a target of another group with members. It is null if only clients' logs show the generation, without an outcome
    CASE
        WHEN COALESCE(group_type, 'classic') <> 'classic' THEN 0
        WHEN outcome = 'unknown' AND COALESCE(evidence, '') = 'clients' THEN NULL
        ELSE CASE WHEN outcome IN ('superseded', 'failed') THEN 1 ELSE 0 END
    END AS aborted_rebalances,      -- 1 for an aborted rebalance, else 0: a generation of a classic group that was superseded or failed. It is null if rebalances is null
    CASE
        WHEN COALESCE(group_type, 'classic') = 'classic' THEN 0
        WHEN outcome = 'unknown' AND COALESCE(evidence, '') IN ('log', 'clients') THEN NULL
        ELSE CASE WHEN outcome = 'superseded' THEN 1 ELSE 0 END
    END AS superseded_targets       -- 1 for a rebalance whose target a newer target replaced before every member had reached it, else 0. It is null if only logs show the generation
FROM generations
ORDER BY cluster_id, group_id, incarnation, generation
