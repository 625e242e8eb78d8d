-- rebalance_counts: what each generation counts as: a rebalance, an aborted rebalance, or neither (docs/metrics.md). All counts of rebalances are sums of these columns.
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
    END AS rebalances,              -- 1 if it is a rebalance, else 0. Classic groups: it became Stable; others: a target of a group with members. Null if only clients' logs show it, without an outcome
    CASE
        WHEN COALESCE(group_type, 'classic') <> 'classic' THEN 0
        WHEN outcome = 'unknown' AND COALESCE(evidence, '') = 'clients' THEN NULL
        ELSE CASE WHEN outcome IN ('superseded', 'failed') THEN 1 ELSE 0 END
    END AS aborted_rebalances,      -- 1 if it is an aborted rebalance: of a classic group, superseded or failed; null as rebalances
    CASE
        WHEN COALESCE(group_type, 'classic') = 'classic' THEN 0
        WHEN outcome = 'unknown' AND COALESCE(evidence, '') IN ('log', 'clients') THEN NULL
        ELSE CASE WHEN outcome = 'superseded' THEN 1 ELSE 0 END
    END AS superseded_targets       -- 1 if it is a rebalance whose target a newer one replaced before every member had reached it; null if only logs show it
FROM generations
ORDER BY cluster_id, group_id, incarnation, generation
