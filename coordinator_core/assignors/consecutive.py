"""Claims as runs of consecutive places: what uniform and range give, and so what is owned then.

A run is checked in one comparison, cut by a number and named by a slice, where single partitions
take a step each. Places are codes of ``Topics``, or its places by id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Owned = Sequence[tuple[str, Sequence[int]]]
Run = tuple[int, int]
"""Begin and end of consecutive places."""


def claimed_runs(
    start_of: Mapping[str, int], numbers_of: Mapping[str, tuple[int, ...]], owned: Iterable[Owned]
) -> list[list[Run]] | None:
    """Each member's runs, one a topic in the order owned; None if a claim is not a known run.

    ``start_of`` and ``numbers_of``: every topic's first place and its partitions.
    """
    lists: list[list[Run]] = []
    try:
        for groups in owned:
            mine: list[Run] = []
            for topic, partitions in groups:
                first = partitions[0]
                end = first + len(partitions)
                if partitions != numbers_of[topic][first:end]:
                    return None
                start = start_of[topic]
                mine.append((start + first, start + end))
            lists.append(mine)
    except (KeyError, IndexError):  # a topic not known, or nothing of it
        return None
    return lists


def gaps(runs: Iterable[Run], total: int) -> list[Run]:
    """What is in none of ``runs``, ascending."""
    between, reached = [], 0
    for begin, end in sorted(runs):
        if begin > reached:
            between.append((reached, begin))
        if end > reached:
            reached = end
    if reached < total:
        between.append((reached, total))
    return between
