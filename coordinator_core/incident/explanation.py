"""A group's evidence explained: the stimuli of each generation, without running the engine."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.era_evidence import NO_EVIDENCE, EraEvidence, InferredEra
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.incident.broker_settings import (
    InferredDelay,
    infer_era,
    infer_initial_delay,
)
from coordinator_core.incident.evidence import Incarnation
from coordinator_core.incident.generation_evidence import GenerationEvidence, by_generation
from coordinator_core.incident.later_evidence import later_evidence
from coordinator_core.incident.log_inference import LogInference
from coordinator_core.incident.members import MemberDirectory
from coordinator_core.incident.record_inference import RecordInference, before_first_start
from coordinator_core.incident.stimuli import ExpiredSession, Stimulus, StimulusKind

_EXPIRIES = frozenset({"HEARTBEAT_EXPIRED", "PENDING_EXPIRED"})


@dataclass(frozen=True)
class ExplainedGeneration:
    """A generation's evidence and inferred stimuli; it ends where the next generation begins."""

    evidence: GenerationEvidence
    stimuli: Sequence[Stimulus]
    expired_sessions: Sequence[ExpiredSession]
    ends_ms: int

    @property
    def is_logged(self) -> bool:
        return self.evidence.start is not None


@dataclass(frozen=True)
class ExplainedIncarnation:
    incarnation: Incarnation
    members: MemberDirectory
    generations: Sequence[ExplainedGeneration]


@dataclass(frozen=True)
class ExplainedGroup:
    """All incarnations of a group; ``era`` and ``delay`` of the group's broker."""

    group_id: str
    era: InferredEra
    delay: InferredDelay
    incarnations: Sequence[ExplainedIncarnation]


@dataclass(frozen=True)
class PreparedIncarnation:
    """An incarnation, its members, and its evidence by generation."""

    incarnation: Incarnation
    members: MemberDirectory
    generations: list[GenerationEvidence]


def explain(
    incarnations: Sequence[Incarnation],
    *,
    era: str | None = None,
    offset_versions: Iterable[int] = (),
    cluster: EraEvidence = NO_EVIDENCE,
) -> ExplainedGroup:
    """Infer the stimuli of all generations; without ``era``, the era is inferred, too: see
    `infer_era`.
    """
    inferred_era = era_of(incarnations, era, offset_versions, cluster)
    prepared = prepare(incarnations)
    delay = delay_of(prepared)
    explained = [
        ExplainedIncarnation(
            each.incarnation,
            each.members,
            explain_generations(
                each.generations, each.members, lambda _: ERAS[inferred_era.name], delay.delay_ms
            ),
        )
        for each in prepared
    ]
    group_id = incarnations[0].group_id if incarnations else ""
    return ExplainedGroup(group_id, inferred_era, delay, explained)


def prepare(incarnations: Iterable[Incarnation]) -> list[PreparedIncarnation]:
    return [
        PreparedIncarnation(each, MemberDirectory(each), by_generation(each))
        for each in incarnations
    ]


def era_of(
    incarnations: Sequence[Incarnation],
    era: str | None,
    offset_versions: Iterable[int],
    cluster: EraEvidence = NO_EVIDENCE,
) -> InferredEra:
    return (
        infer_era(incarnations, offset_versions, cluster)
        if era is None
        else InferredEra(era, "as requested")
    )


def delay_of(prepared: Iterable[PreparedIncarnation]) -> InferredDelay:
    return infer_initial_delay((each.generations, each.members) for each in prepared)


def explain_generations(
    generations: Iterable[GenerationEvidence],
    members: MemberDirectory,
    era_at: Callable[[int], Era],
    delay_ms: int,
    commits: Iterable[Stimulus] = (),
) -> list[ExplainedGeneration]:
    """In order.  ``era_at`` is the coordinator's era at a time in ms; ``delay_ms``:
    group.initial.rebalance.delay.ms; ``commits`` are stimuli to add.
    """
    generations = list(generations)
    later = later_evidence(generations, members)
    pending_ms: dict[str, int] = {}
    previous_members: tuple[str, ...] = ()
    previous_generation, since_ms = 0, 0
    explained: list[ExplainedGeneration] = []
    for evidence in generations:
        stimuli: list[Stimulus] = []
        expired_sessions: list[ExpiredSession] = []
        if evidence.start is not None:
            from_log = LogInference(
                evidence, previous_members, pending_ms, members, later, delay_ms
            )
            stimuli, expired_sessions, previous_members = from_log.infer()
        elif evidence.generation > 0 and evidence.records:
            from_records = RecordInference(
                evidence=evidence,
                previous_members=previous_members,
                previous_generation=previous_generation,
                since_ms=since_ms,
                directory=members,
                era=era_at(evidence.begins_ms),
                delay_ms=delay_ms,
            )
            stimuli, expired_sessions, previous_members = from_records.infer()
            stimuli = stimuli + before_first_start(evidence, pending_ms)
        else:
            stimuli = before_first_start(evidence, pending_ms)
        previous_generation, since_ms = evidence.generation, evidence.ends_ms
        explained.append(ExplainedGeneration(evidence, stimuli, expired_sessions, since_ms))
    return _until_next(_with_commits(explained, commits))


def _with_commits(
    generations: list[ExplainedGeneration], commits: Iterable[Stimulus]
) -> list[ExplainedGeneration]:
    """Put each commit into the generation that was running at the time of the commit."""
    begins = [(_begins_ms(each), 0 if _begins_with_expiry(each) else 2) for each in generations]
    by_place: dict[int, list[Stimulus]] = {}
    for commit in commits:
        place = bisect_left(begins, (commit.at_ms, 1)) - 1
        by_place.setdefault(max(place, 0), []).append(commit)
    return [
        replace(each, stimuli=_in_order(by_place.get(place, []), each.stimuli))
        for place, each in enumerate(generations)
    ]


def _begins_ms(each: ExplainedGeneration) -> int:
    lines = [line.at_ms for line in each.evidence.events[:1]] if each.is_logged else []
    return min([*lines, *(stimulus.at_ms for stimulus in each.stimuli)], default=0)


def _begins_with_expiry(each: ExplainedGeneration) -> bool:
    """Returns whether a timer begins it: the engine fires timers before the requests of a
    millisecond.
    """
    return each.is_logged and each.evidence.events[0].event in _EXPIRIES


def _in_order(commits: list[Stimulus], stimuli: Sequence[Stimulus]) -> list[Stimulus]:
    """By time.  Within a millisecond, a commit precedes requests that end a phase; a commit that
    follows the group record in __consumer_offsets follows the sync that wrote the record.
    """
    synced_ms = max((s.at_ms for s in stimuli if s.kind is StimulusKind.SYNC), default=None)

    def order(stimulus: Stimulus) -> tuple[int, int]:
        if stimulus.kind is not StimulusKind.COMMIT:
            return stimulus.at_ms, 1
        return stimulus.at_ms, 2 if stimulus.at_ms == synced_ms else 0

    return sorted([*commits, *stimuli], key=order)


def _until_next(generations: list[ExplainedGeneration]) -> list[ExplainedGeneration]:
    """A generation ends before the first stimulus of the next one, at the latest."""
    ended = []
    for each, following in zip(generations, [*generations[1:], None], strict=True):
        end_ms = each.evidence.ends_ms
        if following is not None and following.stimuli:
            end_ms = min(end_ms, min(s.at_ms for s in following.stimuli) - 1)
        ended.append(replace(each, ends_ms=end_ms))
    return ended
