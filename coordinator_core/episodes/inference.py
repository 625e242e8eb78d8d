"""Infers the episodes of a group from its rebalances and their causes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from coordinator_core.coordinator.group_types import GROUP_TYPES
from coordinator_core.episodes.activities import activities
from coordinator_core.episodes.drafts import EpisodeDraft
from coordinator_core.episodes.episode_kind import EpisodeKind
from coordinator_core.episodes.evidence import (
    ABSORBED,
    EMPTY,
    FOLLOW_UP,
    SCHEDULED_CAUSES,
    STABLE,
    SUBSCRIPTION_CHANGE,
    TRIGGER,
    Activity,
    Cause,
    Rebalance,
)
from coordinator_core.episodes.failover import is_after_load
from coordinator_core.episodes.grouping import by
from coordinator_core.episodes.kinds import (
    BROKER_CAUSES,
    drafts_of,
    kind_of_rejoin,
    membership_settings,
)
from coordinator_core.episodes.process_changes import ProcessChange, process_changes
from coordinator_core.lives.processes import RESTART_MS

_SETTLED = (EpisodeKind.ROLLING_DEPLOYMENT, EpisodeKind.RESTART, EpisodeKind.WHOLE_GROUP_RESTART)


@dataclass(kw_only=True)
class Episode:
    """Consecutive rebalances with one root cause, and what the processes did.

    ``activity_ms`` is the start of the activity that it is part of; ``number`` is its position in
    the activity, from 1. ``leaves_empty`` means that the activity ends with a rebalance of the
    episode, after which the group has no members.
    """

    kind: EpisodeKind
    confidence: float
    activity_ms: int
    changes: Sequence[ProcessChange]
    causes: Sequence[Cause]
    rebalances: list[Rebalance] = field(default_factory=list)
    draft_settings: Sequence[str] = ()
    loads: Sequence[int] = ()
    leaves_empty: bool = False
    number: int = 0

    @property
    def incarnation(self) -> int:
        first = self.rebalances[0] if self.rebalances else self.causes[0]
        return first.incarnation

    @cached_property
    def event_ms(self) -> int:
        """The first event: of a rebalance or a cause."""
        return min(self._times(), default=self.activity_ms)

    @cached_property
    def from_ms(self) -> int:
        """This is before the first event if a process did not work for some time before it was
        removed.
        """
        return min([self.event_ms, *(each.since_ms for each in self.changes)])

    @property
    def to_ms(self) -> int:
        ends = [each.to_ms for each in self.rebalances]
        return max([self.event_ms, *ends, *(c.at_ms or 0 for c in self.causes)])

    @cached_property
    def processes(self) -> list[str]:
        """Names of the processes, with the host only if several hosts have the name."""
        return sorted({each.process for each in self.changes})

    @property
    def recorded_processes(self) -> list[str]:
        """The processes as named in generation_members, to join tables."""
        by_name = {each.process: each.recorded_process for each in reversed(self.changes)}
        return sorted(set(by_name.values()))

    @property
    def hosts(self) -> list[str]:
        return sorted({each.host.lstrip("/") for each in self.changes} - {""})

    @cached_property
    def generations(self) -> list[int]:
        return [each.generation for each in self.rebalances]

    @property
    def is_interrupted(self) -> bool:
        """Returns whether another broker became coordinator during one of its rebalances."""
        return any(
            rebalance.from_ms < each < rebalance.to_ms
            for rebalance in self.rebalances
            for each in self.loads
        )

    @cached_property
    def generation_span(self) -> tuple[int, int]:
        """The first and last generation; without rebalances, the current generation for both."""
        numbers = self.generations or [each.generation for each in self.causes]
        return min(numbers), max(numbers)

    @cached_property
    def counted_rebalances(self) -> int:
        """Generations that count as rebalances, as in view rebalance_counts."""
        return sum(each.counts for each in self.rebalances)

    @cached_property
    def not_stable_ms(self) -> int | None:
        return _sum(each.not_stable_ms for each in self.rebalances)

    @cached_property
    def partitions_moved(self) -> int | None:
        moved = _sum(each.partitions_moved for each in self.rebalances)
        return None if self.lacks_record else moved

    @cached_property
    def lacks_record(self) -> bool:
        """Returns whether the record of one of its rebalances is missing in the evidence."""
        return any(each.lacks_record for each in self.rebalances)

    @property
    def rebalances_without_begin(self) -> int:
        """Number of stable rebalances of a group with members whose begin is not logged, because
        the coordinator's log is missing.  Members may have revoked their partitions long before.
        """
        return sum(
            each.outcome == STABLE
            and each.not_stable_ms is None
            and not (each.was_empty or each.is_first_seen)
            and not GROUP_TYPES[each.group_type].has_epochs
            for each in self.rebalances
        )

    @property
    def evidence(self) -> str:
        """The evidence for the causes; without causes, the evidence for the rebalances."""
        recorded = any(each.is_recorded for each in self.rebalances)
        words = {word for each in self.causes for word in each.evidence.split("+")}
        shown = words or {"records" if recorded else "log"}
        return "+".join(sorted(shown))

    @property
    def settings(self) -> list[str]:
        texts = {text for each in self.rebalances for _, text in each.settings}
        texts.update(text for each in self.causes for text in each.settings)
        return sorted(texts.union(self.draft_settings, membership_settings(self.changes)))

    def _times(self) -> Iterator[int]:
        for each in self.rebalances:
            yield each.from_ms
        for cause in self.causes:
            if cause.at_ms is not None:
                yield cause.at_ms


def _sum(values: Iterable[int | None]) -> int | None:
    """Returns None without rebalances' figures; 0 without rebalances."""
    all_values = list(values)
    numbers = [each for each in all_values if each is not None]
    return sum(numbers) if numbers or not all_values else None


def infer_episodes(
    rebalances: Iterable[Rebalance], causes: Iterable[Cause], loads: Iterable[int] = ()
) -> list[Episode]:
    """Episodes are in order of time.  Each rebalance is in exactly one episode.  ``loads`` are
    times in ms at which a broker had loaded the group as its coordinator.
    """
    rebalances, loads = list(rebalances), sorted(loads)
    history = {each.id: each for each in rebalances}
    return [
        episode
        for activity in activities(rebalances, causes)
        for episode in _episodes_of(activity._replace(loads=loads), history)
    ]


def _episodes_of(activity: Activity, history: Mapping[tuple[int, int], Rebalance]) -> list[Episode]:
    drafts = drafts_of(activity, process_changes(activity), history)
    of_rebalances = _Assignment(activity, drafts).assigned()
    last = max(activity.rebalances, key=lambda each: each.id, default=None)
    inferred = [
        Episode(
            kind=each.kind,
            confidence=each.confidence,
            activity_ms=activity.from_ms,
            changes=each.changes,
            causes=each.all_causes(),
            rebalances=of,
            draft_settings=each.settings,
            loads=activity.loads,
            leaves_empty=bool(of) and of[-1] is last and last.outcome == EMPTY,
        )
        for each, of in of_rebalances
        if of or each.changes or any(c.needs_no_rebalance for c in each.causes)
    ]
    for episode in inferred:
        # Rebalances of a restart show the settings with which the processes returned.
        if episode.kind in _SETTLED and episode.settings:
            episode.kind = EpisodeKind.CONFIGURATION_CHANGE
    inferred.sort(key=lambda each: (each.event_ms, each.generation_span, each.kind))
    for number, episode in enumerate(inferred, 1):
        episode.number = number
    return inferred


class _Assignment:
    """A rebalance belongs to the episode of its trigger; without a trigger, to the episode of its
    other causes; otherwise it continues the previous episode.
    """

    def __init__(self, activity: Activity, drafts: list[EpisodeDraft]) -> None:
        self._activity = activity
        self._drafts = drafts
        causes = (each for each in activity.causes if each.role != ABSORBED)
        self._causes = by(lambda each: (each.incarnation, each.generation), causes)
        self._causes_of_member = by(lambda each: each.member_id, activity.causes)
        self._of_cause = {id(c): draft for draft in drafts for c in draft.all_causes()}

    def assigned(self) -> list[tuple[EpisodeDraft, list[Rebalance]]]:
        of_draft: dict[int, list[Rebalance]] = {}
        previous: tuple[EpisodeDraft, Rebalance] | None = None
        for rebalance in self._activity.rebalances:
            draft = self._draft(rebalance, previous)
            of_draft.setdefault(id(draft), []).append(rebalance)
            previous = draft, rebalance
        return [(each, of_draft.get(id(each), [])) for each in self._drafts]

    def _draft(
        self, rebalance: Rebalance, previous: tuple[EpisodeDraft, Rebalance] | None
    ) -> EpisodeDraft:
        causes = self._causes.get(rebalance.id, [])
        triggers = [each for each in causes if each.role == TRIGGER]
        trigger = min(triggers, key=lambda each: each.cause not in BROKER_CAUSES, default=None)
        of_changes = [d for c in causes if (d := self._of_cause.get(id(c))) is not None]
        if trigger is not None and id(trigger) in self._of_cause:
            return self._of_cause[id(trigger)]
        if trigger is None and of_changes:
            return of_changes[0]
        is_follow_up = trigger is not None and trigger.story == FOLLOW_UP
        is_scheduled = trigger is not None and trigger.cause in SCHEDULED_CAUSES
        # A classic member rejoins because it gave up partitions in the previous rebalance.  A
        # member of another type completes its own change after rebalances of other members.
        is_completion = is_follow_up and GROUP_TYPES[rebalance.group_type].has_epochs
        if is_completion and (begun := self._begun_by(trigger)) is not None:
            return begun
        if previous is not None and (is_follow_up or is_scheduled or rebalance.continues):
            return previous[0]
        return self._rejoined(rebalance, trigger, previous, of_changes)

    def _begun_by(self, completion: Cause | None) -> EpisodeDraft | None:
        """The draft with what the member did last: it joined, or changed its subscription."""
        if completion is None or completion.member_id is None:
            return None
        before = (
            self._of_cause[id(each)]
            for each in reversed(self._causes_of_member.get(completion.member_id, ()))
            if each.generation <= completion.generation
            and (each.is_arrival or each.cause == SUBSCRIPTION_CHANGE)
            and id(each) in self._of_cause
        )
        return next(before, None)

    def _rejoined(
        self,
        rebalance: Rebalance,
        trigger: Cause | None,
        previous: tuple[EpisodeDraft, Rebalance] | None,
        of_changes: list[EpisodeDraft],
    ) -> EpisodeDraft:
        kind, confidence = EpisodeKind.UNKNOWN, 0.3
        if trigger is not None:
            kind, confidence = kind_of_rejoin(trigger, rebalance)
        if kind is EpisodeKind.UNKNOWN and is_after_load(rebalance.from_ms, self._activity.loads):
            kind, confidence = EpisodeKind.COORDINATOR_FAILOVER, 0.7
        if kind is EpisodeKind.UNKNOWN and rebalance.was_empty and rebalance.outcome == STABLE:
            kind, confidence = EpisodeKind.GROUP_START, 0.9
        # Only events before the first known generation are unknown; later events are not.
        is_soon = (
            previous is not None
            and rebalance.from_ms - previous[1].to_ms <= RESTART_MS
            and not previous[1].is_first_seen
        )
        if previous is not None and is_soon and kind in (EpisodeKind.UNKNOWN, previous[0].kind):
            return previous[0]
        if kind is EpisodeKind.UNKNOWN and of_changes:
            return of_changes[0]
        draft = EpisodeDraft(kind, [], confidence, [] if trigger is None else [trigger])
        self._drafts.append(draft)
        self._of_cause.update({id(each): draft for each in draft.all_causes()})
        return draft
