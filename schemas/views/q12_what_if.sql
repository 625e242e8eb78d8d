-- q12_what_if: what other settings would have changed: figures observed, simulated with the group's own settings, and simulated with changed settings.
SELECT
    p.cluster_id,                   -- cluster
    p.group_id,                     -- consumer group
    p.setting,                      -- changed settings as KEY=VALUE, separated by spaces
    o.rebalances AS rebalances_observed, -- rebalances as docs/metrics.md defines them, from records and logs
    m.rebalances AS rebalances_unchanged, -- rebalances, simulated with the group's own settings
    p.rebalances AS rebalances_predicted, -- rebalances, simulated with the changed settings: the median of the seeds, as in the columns below
    o.not_stable_ms AS not_stable_observed_ms, -- ms from each start of a rebalance to its assignment, observed
    m.not_stable_ms AS not_stable_unchanged_ms, -- ms from each start of a rebalance to its assignment, simulated with the group's own settings
    p.not_stable_ms AS not_stable_predicted_ms, -- ms from each start of a rebalance to its assignment, simulated with the changed settings
    o.moved_partitions AS moved_observed, -- partitions assigned to another process than their last owner, observed
    m.moved_partitions AS moved_unchanged, -- moved partitions, simulated with the group's own settings
    p.moved_partitions AS moved_predicted, -- moved partitions, simulated with the changed settings
    o.unowned_partition_ms AS unowned_observed_partition_ms, -- partition downtime in ms, summed over partitions, observed
    m.unowned_partition_ms AS unowned_unchanged_partition_ms, -- partition downtime in ms, simulated with the group's own settings
    p.unowned_partition_ms AS unowned_predicted_partition_ms, -- partition downtime in ms, simulated with the changed settings
    p.unowned_partition_ms_min AS unowned_predicted_min_partition_ms, -- lower end of the predicted range of unowned_predicted_partition_ms, which holds 9 of 10 captured figures
    p.unowned_partition_ms_max AS unowned_predicted_max_partition_ms, -- upper end of the predicted range of unowned_predicted_partition_ms, which holds 9 of 10 captured figures
    o.records_reprocessed AS reprocessed_observed, -- records handled again by the next owners, observed; null without commits, as in the columns below
    m.records_reprocessed AS reprocessed_unchanged, -- records handled again, simulated with the group's own settings
    p.records_reprocessed AS reprocessed_predicted, -- records handled again, simulated with the changed settings
    o.consumption_pause_ms AS pause_observed_ms, -- ms from the stop of an owner to the next owner's first record, summed over partitions, observed
    m.consumption_pause_ms AS pause_unchanged_ms, -- consumption pauses in ms, simulated with the group's own settings
    p.consumption_pause_ms AS pause_predicted_ms, -- consumption pauses in ms, simulated with the changed settings
    m.unowned_partition_ms - p.unowned_partition_ms AS saved_partition_ms, -- downtime saved, as the difference of two simulations, so that the model's errors affect both sides
    ROUND(100 * (m.unowned_partition_ms - p.unowned_partition_ms) / NULLIF(m.unowned_partition_ms, 0), 1) AS saved_percent, -- share of the downtime that is saved
    p.unowned_partition_ms_min > m.unowned_partition_ms_max AS longer_downtime, -- true if the range of the partition downtime lies above the range without the change
    p.setting IS NOT DISTINCT FROM a.setting AS advised, -- true if this is the advised change, which is the cheapest change that removes most of the downtime
    CASE WHEN p.setting = a.setting THEN a.sentence END AS sentence, -- the reason, for the advised change
    CASE WHEN p.setting = a.setting THEN a.risk END AS risk, -- cost or risk of the advised change
    p.seeds,                        -- number of simulations
    p.from_time,                    -- start of the simulated span
    p.to_time                       -- end of the simulated span
FROM what_if p
LEFT JOIN what_if o
    ON o.cluster_id = p.cluster_id AND o.group_id = p.group_id AND o.basis = 'observed'
LEFT JOIN what_if m
    ON m.cluster_id = p.cluster_id AND m.group_id = p.group_id AND m.basis = 'model'
LEFT JOIN advice a ON a.cluster_id = p.cluster_id AND a.group_id = p.group_id
WHERE p.basis = 'predicted'
ORDER BY cluster_id, group_id, saved_partition_ms DESC NULLS LAST, setting
