"""The end of a process, derived from the time at which its partitions lost their owner.

The table ownership_gaps infers this time from heartbeats, joins and commits (jobs.ownership,
coordinator_core.modern_history).  A process life uses this time, because a second inference from
less evidence would differ from the partition downtime that users see.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from coordinator_core.lives.memberships import TimeEstimate

Silences = Mapping[str, Sequence[tuple[int, int]]]
"""By process, as in generation_members: start and end of the time in which its partitions had
no owner, in ms."""
# Tolerance: the partitions of a killed process have no owner until its session has expired.
_SLACK_MS = 1000


def with_silence(
    ended: TimeEstimate, gone_ms: int, silences: Silences, names: Iterable[str]
) -> TimeEstimate:
    """``ended``; its most likely time is the start of the last silence that starts within it.

    ``gone_ms`` says when the member was removed or replaced: a silence lasts until then.
    ``names`` of the process.
    """
    began = [
        from_ms
        for name in names
        for from_ms, to_ms in silences.get(name, ())
        if ended.earliest_ms <= from_ms <= ended.latest_ms and to_ms >= gone_ms - _SLACK_MS
    ]
    return ended._replace(at_ms=max(began, default=ended.at_ms))
