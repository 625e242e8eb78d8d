"""What the records of a consumer, share or streams group say: epochs, members, assignments.

A group of these types has no rebalance that all members join.  Its coordinator increases the group
epoch whenever members, subscriptions or topics change, and computes a target assignment for the
epoch.  Each member reaches the target by its own heartbeats: it first gives up partitions that
other members will get (UNREVOKED), then waits until other members have given up its own new
partitions (UNRELEASED), and is STABLE when it has all of them.  Every step is a record:

    member metadata -> group epoch -> target assignment -> current assignment of each member

Therefore a replay of the records in their order gives everything except the reason of a departure,
which only the log has.  One target assignment is one generation; its number is the assignment
epoch.  The group is Empty without members, Assigning while its epoch is above that of the target,
Reconciling while a member has not reached the target, else Stable
(`ConsumerGroup.maybeUpdateGroupState`).

What goes in, and what comes out
--------------------------------
`replay` takes the records of one incarnation in the order of the log, and the log lines about
departures and targets if there are any.  It returns a `History`:

    generations  one per target assignment: when the group epoch went up, when the target was
                 computed, when every member had reached it, and why
    bumps        one per group epoch, with its cause and the process that caused it
    steps        one per current assignment of a member: its state, what it has, what it gives up
    handovers    one per partition that changed its process, and what it waited for

A partition has no owner from the record in which its old owner no longer has it until the record
in which the new owner has it.  A record says nothing about a member that was killed: its records
stay until its session ends.

Example
-------
Member a has partitions 0 and 1 when b joins at 100 ms.  The coordinator computes a target at 150
ms.  A heartbeat of a removes partition 1 from a at 160 ms, which a confirms at 200 ms.  The next
heartbeat of b, at 300 ms, returns the partition to b:

>>> history = replay([
...     joined(0, "a"), bump(0, 2), *target(0, 2, a=[P0, P1]), current(0, "a", 2, STABLE, [P0, P1]),
...     joined(100, "b"), bump(100, 3), *target(150, 3, a=[P0], b=[P1]),
...     current(150, "b", 3, UNRELEASED), current(160, "a", 2, UNREVOKED, [P0], [P1]),
...     current(200, "a", 3, STABLE, [P0]), current(300, "b", 3, STABLE, [P1]),
... ])
>>> [(each.number, each.preparing_ms, each.joined_ms, each.stable_ms)
...  for each in history.generations]
[(2, 0, 0, 0), (3, 100, 150, 300)]
>>> [(each.epoch, each.cause, each.process) for each in history.bumps]
[(2, 'MEMBER_NEW', 'a@h'), (3, 'MEMBER_NEW', 'b@h')]
>>> [(each.member_id, each.state, each.time_ms) for each in history.steps if each.generation == 3]
... # doctest: +NORMALIZE_WHITESPACE
[('b', 'UNRELEASED', 150), ('a', 'UNREVOKED', 160), ('a', 'STABLE', 200), ('b', 'STABLE', 300)]
>>> [moved] = history.handovers
>>> moved.asked_ms, moved.released_ms, moved.assigned_ms, moved.waited_for
(150, 200, 300, 'heartbeat')

Partition 1 was released at 200 ms and then waited 100 ms for the next heartbeat of b: a shorter
heartbeat interval, not a faster listener, would have shortened its downtime.

Where each part is
------------------
- evidence:   a record, or the log line of a departure or a target, as a value
- members:    a member, what it has, and the process behind it
- targets:    what a server assignor had to compute a target
- history:    the results: generations, bumps of the epoch, steps of members
- handovers:  partitions that change their process, and what they wait for
- memberships: a member from its join to its departure, and its steps
- process_ends: when the process of a departed member stopped
- tenures:    when each process owned each partition
- topic_names: names of topic ids, by subscriptions
- causes:     why the group epoch was counted up
- replay:     plays an incarnation's evidence; returns its history
- lines:      plays the lines about an incarnation without records
"""

from coordinator_core.modern_history.evidence import (
    GroupRecord,
    LoggedDeparture,
    RecordKind,
    TargetLine,
)
from coordinator_core.modern_history.history import (
    EpochBump,
    Generation,
    GenerationMember,
    History,
    Owned,
)
from coordinator_core.modern_history.lines import LoggedGroupLine, replay_lines
from coordinator_core.modern_history.memberships import MemberStep
from coordinator_core.modern_history.replay import replay
from coordinator_core.modern_history.targets import ListsByTopic, Subscriber, TargetInput

__all__ = [
    "EpochBump",
    "Generation",
    "GenerationMember",
    "GroupRecord",
    "History",
    "ListsByTopic",
    "LoggedDeparture",
    "LoggedGroupLine",
    "MemberStep",
    "Owned",
    "RecordKind",
    "Subscriber",
    "TargetInput",
    "TargetLine",
    "replay",
    "replay_lines",
]
