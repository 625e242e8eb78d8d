"""Finds the episode that ended each partition's time without an owner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from coordinator_core.episodes.inference import Episode
from coordinator_core.figures import Downtime

# An assignment reaches the members up to this long after the end of the rebalance.
_SLACK_MS = 5_000


class Gap(NamedTuple):
    """Times without an owner that ended together; ``to_ms`` and ``generation`` None: still open.

    ``generation`` is the generation that assigned the partitions, or the current generation if a
    static member returned.
    """

    incarnation: int
    generation: int | None
    from_ms: int
    to_ms: int | None
    downtime: Downtime


def downtimes(episodes: Sequence[Episode], gaps: Iterable[Gap]) -> list[Downtime | None]:
    """Partition downtime of each episode, or None if a record is missing, as with logs alone."""
    unowned = [Downtime()] * len(episodes)
    owners = {
        (each.incarnation, generation): place
        for place, each in enumerate(episodes)
        for generation in each.generations
    }
    for gap in gaps if episodes else ():
        place = _episode_of(gap, episodes, owners)
        unowned[place] = unowned[place].plus(gap.downtime)
    recorded = {each.id[0] for of in episodes for each in of.rebalances if each.is_recorded}
    return [
        downtime if each.incarnation in recorded and not each.lacks_record else None
        for each, downtime in zip(episodes, unowned, strict=True)
    ]


def _episode_of(gap: Gap, episodes: Sequence[Episode], owners: dict[tuple[int, int], int]) -> int:
    """The episode by the generation that ended the gap, unless the generation is older; else the
    nearest episode in time.
    """
    place = owners.get((gap.incarnation, gap.generation or 0))
    if place is not None and gap.to_ms is not None:
        made = next(r for r in episodes[place].rebalances if r.generation == gap.generation)
        if gap.to_ms <= made.to_ms + _SLACK_MS:
            return place
    at_ms = gap.from_ms if gap.to_ms is None else gap.to_ms
    return min(range(len(episodes)), key=lambda place: _distance(gap, at_ms, episodes[place]))


def _distance(gap: Gap, at_ms: int, episode: Episode) -> tuple[bool, int]:
    """Arrivals of static members are at the end of their gaps; an open gap began in its episode."""
    times = [each.at_ms for each in episode.causes if each.at_ms is not None]
    times += [each.from_ms for each in episode.rebalances]
    if gap.to_ms is None:
        times += [episode.from_ms]
    nearest_ms = min((abs(at_ms - each) for each in times), default=0)
    return episode.incarnation != gap.incarnation, nearest_ms
