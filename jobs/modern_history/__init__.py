"""Modern groups in the tables: consumer, share and streams groups (KIP-848, KIP-932, KIP-1071).

What happens in Kafka
---------------------
These groups have epochs.  The coordinator increments the group epoch when members, subscriptions or
topics change, and computes a target assignment for it.  Each member then reaches the target by its
own heartbeats.  Every one of these steps is a record of the group (coordinator_core.modern_history
describes them), so the records have the whole history but the reason of a departure, which only
the coordinator's log has.

What this package takes, and what it returns
--------------------------------------------
In:   `group_records` and the lines of `group_events`, in the order of `timeline`; the last commits
      of departed members (`committed_offsets`); names of topics (`topic_ids`); settings of groups
      (`configurations`).
Out:  rows of generations (one per target), generation_members, assignments, group_epochs (one per
      increment of the group epoch), member_epochs (one per step of a member), handovers, and the
      tenures from which ownership_gaps and handover_costs are computed.

One Python worker plays all evidence of an incarnation, in its order.  A run plays each incarnation
once, for all of its jobs.

Example
-------
Member a has both partitions of a topic when b joins.  A target is computed 50 ms later.  Member a
gives partition 1 up at 200 ms, and b receives it with its next heartbeat, at 300 ms:

>>> history = replay([
...     joined(0, "a"), bump(0, 2), *target(0, 2, a=[P0, P1]), current(0, "a", 2, STABLE, [P0, P1]),
...     joined(100, "b"), bump(100, 3), *target(150, 3, a=[P0], b=[P1]),
...     current(150, "b", 3, UNRELEASED), current(160, "a", 2, UNREVOKED, [P0], [P1]),
...     current(200, "a", 3, STABLE, [P0]), current(300, "b", 3, STABLE, [P1]),
... ])

Each target is a row of generations.  Between joined_time and stable_time the group reconciles:

>>> rows = list(ROWS["generations"](history, NAMES))
>>> [(row["generation"], row["cause"], row["outcome"]) for row in rows]
[(2, 'MEMBER_NEW', 'stable'), (3, 'MEMBER_NEW', 'stable')]
>>> rows[1]["stable_time"] - rows[1]["joined_time"]
datetime.timedelta(microseconds=150000)

The partition that moved is a row of handovers.  It had no owner for 100 ms, because b waited for
its next heartbeat:

>>> [moved] = ROWS["handovers"](history, NAMES)
>>> moved["topic"], moved["partition"], moved["from_process"], moved["to_process"]
('orders', 1, 'a@h', 'b@h')
>>> moved["unowned_ms"], moved["waited_for"]
(100, 'heartbeat')

Where each part is
------------------
- evidence: the records and lines of each incarnation as one frame; rows of the frame as values
- played:     plays each incarnation; the rows of each table
- rows:       a history as rows of each table (`ROWS`)
- tenures:    when each process owned each partition, and the commits that show it
- lives:      the process lives of these groups
"""
