"""Processes that may have stopped at the same moment did: a host was lost, or several froze.

When a process was killed or froze is known to a heartbeat interval, from its session's expiry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from coordinator_core.lives import ConsumerProcess, ProcessLife, TimeEstimate


def with_common_ends(processes: Sequence[ConsumerProcess]) -> tuple[ConsumerProcess, ...]:
    """Ends without leaving, and freezes, whose intervals have a moment in common get the interval
    that they have in common.
    """
    common = _common(time for process in processes for time in _stops(process))
    return tuple(
        replace(process, lives=tuple(_narrowed(life, common) for life in process.lives))
        for process in processes
    )


def _stops(process: ConsumerProcess) -> Iterable[TimeEstimate]:
    for life in process.lives:
        if life.killed and life.ended is not None:
            yield life.ended
        yield from (freeze.began for freeze in life.freezes)


def _common(times: Iterable[TimeEstimate]) -> Mapping[TimeEstimate, TimeEstimate]:
    """Of each interval, the part that it has in common with all others of its group: those that
    began before the first of them was over.
    """
    groups: list[list[TimeEstimate]] = []
    for time in sorted(times, key=lambda each: each.latest_ms):
        if not groups or time.earliest_ms > groups[-1][0].latest_ms:
            groups.append([])
        groups[-1].append(time)
    return {time: _intersection(group) for group in groups if len(group) > 1 for time in group}


def _intersection(group: Sequence[TimeEstimate]) -> TimeEstimate:
    earliest_ms = max(time.earliest_ms for time in group)
    latest_ms = min(time.latest_ms for time in group)
    return TimeEstimate((earliest_ms + latest_ms) // 2, earliest_ms, latest_ms)


def _narrowed(life: ProcessLife, common: Mapping[TimeEstimate, TimeEstimate]) -> ProcessLife:
    freezes = tuple(
        each._replace(began=common.get(each.began, each.began)) for each in life.freezes
    )
    if not life.killed or life.ended is None:
        return replace(life, freezes=freezes)
    return replace(life, freezes=freezes, ended=common.get(life.ended, life.ended))
