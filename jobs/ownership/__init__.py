"""Infers when members owned partitions, for the table ownership_gaps.

A member owns a partition from its assignment until it revokes the partition or its process ends.
Log and records have every assignment, but no revocation, and of most ends only a consequence: the
session expired, or a static member was replaced.  docs/metrics.md lists how these times are
inferred.

    rebalances    each generation, the rebalance that ended it, and the group's next shutdown
    members       each member of each generation: its arrival, and the next one of its client
    commits       the last offset commits of each member before it departed or rejoined
    returns       departed members whose process was back with the state of its membership
    process_ends  when a departed member stopped to own partitions
    tenures       when each member owned the partitions of a generation
    gaps          the times between the tenures of a partition
"""
