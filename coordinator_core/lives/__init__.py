"""The consumer processes behind a group's member ids, and the lifetimes of each process.

A coordinator knows member ids only.  A dynamic member gets a new random id each time it joins, so
a restarted process appears as one member that leaves and another that joins; a consumer that
exceeds max.poll.interval.ms leaves and rejoins under a new id although its process never stopped.
Questions such as "was this a rolling deployment?", "which process crashed?" and "what would static
membership have changed?" need processes.  This package derives them in three steps:

    stimuli of a group (coordinator_core.incident.explain)
      -> memberships: one per member id, from its first join to its departure
      -> processes: memberships grouped by process, and cut into process lives
      -> life kinds: how each process life started and ended

Memberships.  A membership ends in one of these ways: the member leaves, its session expires, the
next process with its instance id replaces it, or it is removed because it did not rejoin or sync in
time.  Each start and end is a `TimeEstimate`: the most likely time and the interval around it.

Processes.  Memberships belong to the same process if they share the instance id (static members),
else the client id and host.  If several processes share both, a new member continues the process
that departed last.  Among the remaining processes, a process that ends and a process that starts
within a minute are assumed to be one process under a new name, as with the pods of a Deployment.
Each rule has a confidence from 0 to 1 (docs/what-if.md lists them).

Process lives.  A process that leaves and joins again starts a new life.  Exception: a slow poll.
The client reports it as its leave reason (KIP-800); without a reason, it is inferred when a member
leaves and has committed nothing for max.poll.interval.ms.  Member ids before and after a slow poll
belong to one process life.  A crash is known only by the session expiry: the process ended after
its last heartbeat and before its next one was due (coordinator_core.protocol.processes).

Modern groups.  Groups that were not always classic have no stimuli of all members: their processes
follow from the causes of rebalances (coordinator_core.episodes.lives).  Both use the same key of a
process (`process_key`), time to a restart (`RESTART_MS`) and end of a killed process
(`with_silence`).  In 58 captured classic groups with known processes, the number of lives is right
for all processes in 34 groups by members, and in 36 by causes.  Most other groups have frozen
processes, which count as restarted.

Life kinds.  A start is part of the group's start, a restart, a rolling deployment, a restart after
a crash, a scale-out, or a return; an end is a stop, a kill, a scale-in or part of a shutdown.

- memberships: `memberships_of`, the memberships of a group's explained incarnations
- processes:   `identify_processes`, the processes and their lives
- silences:    `with_silence`, the end of a process by the times without an owner of its partitions
- life_kinds:  `classify_lives`, how each life started and ended; `is_flapping`
"""

from coordinator_core.lives.life_kinds import (
    EndKind,
    LifeKind,
    StartKind,
    classify_lives,
    is_flapping,
)
from coordinator_core.lives.memberships import Departure, Membership, TimeEstimate, memberships_of
from coordinator_core.lives.processes import (
    ConsumerProcess,
    Freeze,
    ProcessLife,
    SlowPoll,
    identify_processes,
)
from coordinator_core.lives.silences import Silences, with_silence

__all__ = [
    "ConsumerProcess",
    "Departure",
    "EndKind",
    "Freeze",
    "LifeKind",
    "Membership",
    "ProcessLife",
    "Silences",
    "SlowPoll",
    "StartKind",
    "TimeEstimate",
    "classify_lives",
    "identify_processes",
    "is_flapping",
    "memberships_of",
    "with_silence",
]
