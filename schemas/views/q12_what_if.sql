-- q12_what_if: what other settings would have made of it: observed, the same settings played by the models, and the changed ones.
SELECT
    p.cluster_id,                   -- cluster
    p.group_id,                     -- consumer group
    p.setting,                      -- changed settings as KEY=VALUE, separated by spaces
    o.rebalances AS rebalances_observed, -- generations whose assignment arrived, by records and logs
    m.rebalances AS rebalances_unchanged, -- by the models of client and coordinator, under the group's own settings
    p.rebalances AS rebalances_predicted, -- by the same models, under the changed ones; of several seeds the median, as are the others
    o.not_stable_ms AS not_stable_observed_ms, -- ms from each start of a rebalance to its assignment
    m.not_stable_ms AS not_stable_unchanged_ms, -- by the models
    p.not_stable_ms AS not_stable_predicted_ms, -- changed
    o.moved_partitions AS moved_observed, -- partitions given to another process than the last that had them
    m.moved_partitions AS moved_unchanged, -- by the models
    p.moved_partitions AS moved_predicted, -- changed
    o.unavailable_partition_ms AS unavailable_observed_partition_ms, -- ms that no process had a partition, over all partitions
    m.unavailable_partition_ms AS unavailable_unchanged_partition_ms, -- by the models
    p.unavailable_partition_ms AS unavailable_predicted_partition_ms, -- changed
    p.unavailable_partition_ms_min AS unavailable_predicted_min_partition_ms, -- least of the seeds
    p.unavailable_partition_ms_max AS unavailable_predicted_max_partition_ms, -- most of the seeds
    m.unavailable_partition_ms - p.unavailable_partition_ms AS saved_partition_ms, -- of that the saving, model against model: what the models get wrong is on both sides
    ROUND(100 * (m.unavailable_partition_ms - p.unavailable_partition_ms) / NULLIF(m.unavailable_partition_ms, 0), 1) AS saved_percent, -- share of it
    p.setting IS NOT DISTINCT FROM a.setting AS advised, -- the cheapest change that takes most of the group's unavailability away
    CASE WHEN p.setting = a.setting THEN a.sentence END AS sentence, -- of that one why
    p.seeds,                        -- how often it was played
    p.from_time,                    -- begin of the span that was played
    p.to_time                       -- its end
FROM what_if p
LEFT JOIN what_if o
    ON o.cluster_id = p.cluster_id AND o.group_id = p.group_id AND o.basis = 'observed'
LEFT JOIN what_if m
    ON m.cluster_id = p.cluster_id AND m.group_id = p.group_id AND m.basis = 'model'
LEFT JOIN advice a ON a.cluster_id = p.cluster_id AND a.group_id = p.group_id
WHERE p.basis = 'predicted'
