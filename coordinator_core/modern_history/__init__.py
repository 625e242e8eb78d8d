"""What the records of a consumer, share or streams group say: epochs, members, assignments.

A group of these types has no rebalance that all members join.  Its coordinator counts up the group
epoch whenever members, subscriptions or topics change, computes a target assignment for it, and
each member reaches the target by its own heartbeats: it first gives up what others are to have
(UNREVOKED), then waits until others have given up what it is to have (UNRELEASED), and is STABLE
when it has all of it.  Every step is a record:

    member metadata -> group epoch -> target assignment -> current assignment of each member

So a replay of the records in their order gives everything but the reason of a departure, which only
the log has.  One target assignment is one generation; its number is the assignment epoch.  The
group is Empty without members, Assigning while its epoch is above that of the target, Reconciling
while a member has not reached the target, else Stable (`ConsumerGroup.maybeUpdateGroupState`).

- evidence:   a record, or the log line of a departure or a target, as a value
- members:    a member, what it has, and the process behind it
- targets:    what a server assignor had to compute a target
- history:    the results: generations, bumps of the epoch, steps of members
- handovers:  partitions that change their process, and what they wait for
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
