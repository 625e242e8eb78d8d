"""Reproduce the history of a consumer, share or streams group.

These groups leave a record for every step: member, group epoch, target assignment, and what each
member has.  A coordinator writes the records of one request together and in a fixed order, so a
log can be cut into writes, and each write shows the request that led to it:

    records -> writes -> stimuli -> engine -> records, compared with those of the write

A heartbeat that writes no record changes nothing, except that it keeps the session.  The engine's
sessions therefore last until the evidence shows their end; then the engine's timer removes the
member.  All other timers run normally.  The engine decides everything else: epochs, the time at
which a target is computed, the result of the assignor, the partitions that a member has to give up
first, free partitions, and the records of a removal or a conversion.

What a heartbeat reported about owned partitions follows from the result.  A member that is still
asked to give up partitions has not reported that it did; a member that continues has reported it.
The log distinguishes a leave from an expired session.  Without a log, a departure is an expiry if
only an expiry is possible, else a leave.

Topics come from three places: a target has the partitions of all topics, commits and subscriptions
have names, and the hash in the group's record confirms both.  If it does not confirm them (racks,
topics of a streams group, whose ids are in no record), the hash is not compared.

A generation is one target assignment.  A generation is reproduced if all its writes are reproduced,
and if, with a log, each line has its event and each event its line.  After a divergence the engine
is loaded with production's records, like a coordinator that takes over the group.

- evidence:   records and lines of an incarnation
- stored:     what the records say at a moment
- writes:     cuts records into writes
- requests:   the request that writes given records
- topics:     names, ids and partition counts
- settings:   era, assignment interval, assignor
- stimuli:    what reached the coordinator
- inference:  from writes to stimuli
- driver:     sends stimuli to the engine
- comparison: records of a write and of the engine
- lines:      lines of the log and events of the engine
- replay: the whole replay, and the generations
- phases:     the times in which the group was classic
- group_replay: a group's whole history, classic times included
"""

from coordinator_core.incident.modern.evidence import Entry, GroupLine, ModernIncarnation, entry
from coordinator_core.incident.modern.group_replay import (
    GroupEvidence,
    ModernReplay,
    WholeReplay,
    replay_group,
)
from coordinator_core.incident.modern.replay import (
    IncarnationReplay,
    ModernGeneration,
    ReplayedWrite,
)
from coordinator_core.incident.modern.settings import modern_era

__all__ = [
    "Entry",
    "GroupEvidence",
    "GroupLine",
    "IncarnationReplay",
    "ModernGeneration",
    "ModernIncarnation",
    "ModernReplay",
    "ReplayedWrite",
    "WholeReplay",
    "entry",
    "modern_era",
    "replay_group",
]
