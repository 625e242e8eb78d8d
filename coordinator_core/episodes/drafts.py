"""Drafts of episodes, which rules make of a group's changes of processes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coordinator_core.episodes.episode_kind import EpisodeKind
from coordinator_core.episodes.evidence import Activity, Cause, Rebalance
from coordinator_core.episodes.grouping import cut_at_gaps
from coordinator_core.episodes.process_changes import ProcessChange, What


@dataclass(eq=False)
class EpisodeDraft:
    """An episode before its rebalances are known; ``causes`` are causes that are not a process's
    change; ``settings`` are changed settings, except settings of processes.
    """

    kind: EpisodeKind
    changes: list[ProcessChange]
    confidence: float
    causes: list[Cause] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)

    def all_causes(self) -> list[Cause]:
        return [cause for each in self.changes for cause in each.causes] + self.causes


@dataclass(frozen=True)
class Scene:
    """The input of a rule: the changes that no earlier rule took.

    ``activity`` has all its rebalances and causes; ``history`` has its and earlier rebalances, by
    id.
    """

    changes: Sequence[ProcessChange]
    activity: Activity
    history: Mapping[tuple[int, int], Rebalance]

    @property
    def rebalances(self) -> Sequence[Rebalance]:
        return self.activity.rebalances

    def size(self, changes: Collection[ProcessChange]) -> int:
        """The group's largest number of members in the generations of these changes; an old process
        and the new process that began before the old process's end count once.
        """
        ids = {(c.incarnation, c.generation) for each in changes for c in each.causes}
        doubles = [span for each in changes if (span := each.double_span) is not None]
        joined = sorted(first for first, _ in doubles)
        left = sorted(end for _, end in doubles)
        return max(
            (
                self.history[each].member_count
                - (bisect_right(joined, each) - bisect_right(left, each))
                for each in ids
                if each in self.history
            ),
            default=0,
        )

    def of(self, *what: What) -> list[ProcessChange]:
        return [each for each in self.changes if each.what in what]


Rule = Callable[[Scene], Iterator[EpisodeDraft]]


def in_series(
    changes: Iterable[ProcessChange],
    gap_ms: int,
    *,
    when: Callable[[ProcessChange], int] = lambda each: each.from_ms,
    until: Callable[[ProcessChange], int] | None = None,
) -> Iterator[list[ProcessChange]]:
    """Changes in order of ``when``, cut at gaps."""
    return cut_at_gaps(changes, gap_ms, when=when, until=until)
