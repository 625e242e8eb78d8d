"""The replay of a group's whole history, of whatever types it was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from coordinator_core.coordinator.era_evidence import NO_EVIDENCE, EraEvidence, InferredEra
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.incident.evidence import Incarnation, LogEvent, Row, incarnations
from coordinator_core.incident.modern.evidence import Entry, GroupLine, ModernIncarnation, entry
from coordinator_core.incident.modern.phases import (
    before_conversion,
    classic_evidence,
    classic_phases,
)
from coordinator_core.incident.modern.replay import IncarnationReplay, ModernGeneration
from coordinator_core.incident.modern.settings import ASSIGNORS, modern_era
from coordinator_core.incident.replay import NEVER_MS, GroupReplay, replay
from coordinator_core.incident.stretches import Eras, Period, eras_of_periods, one_era, within
from coordinator_core.incident.takeover import Takeover

TARGET_MEMBER = "ConsumerGroupTargetAssignmentMember"


class ModernReplay(NamedTuple):
    """The generations of types other than classic.

    ``eras`` are the eras of the coordinators, or None if the group never had such a type.
    ``resumed_from`` is the (incarnation, generation) whose records the engine was loaded with at
    the beginning; ``unnamed_topics`` are ids of topics that no evidence names; ``names`` are the
    names of other topics.
    """

    group_id: str
    eras: Eras | None = None
    generations: Sequence[ModernGeneration] = ()
    resumed_from: Sequence[tuple[int, int]] = ()
    unnamed_topics: Sequence[str] = ()
    names: Mapping[str, str] = {}

    @property
    def era(self) -> InferredEra | None:
        return None if self.eras is None else self.eras.last


class WholeReplay(NamedTuple):
    classic: GroupReplay
    modern: ModernReplay


class GroupEvidence(NamedTuple):
    """Rows of one group, each with ``incarnation`` and ``at_ms``.

    ``events``: of group_events; ``records``: of group_metadata; ``stored`` has its records of
    `__consumer_offsets` but offsets, with topic_partition, log_offset, key and value; empty if the
    group never was of another type than classic; ``names`` are names of topics by id.
    """

    group_id: str
    events: Sequence[Row]
    records: Sequence[Row]
    stored: Sequence[Row] = ()
    names: Mapping[str, str] = {}


def replay_group(
    evidence: GroupEvidence,
    *,
    era: str | None = None,
    from_ms: int = 0,
    to_ms: int = NEVER_MS,
    offset_versions: Iterable[int] = (),
    cluster: EraEvidence = NO_EVIDENCE,
    committed: Iterable[Row] = (),
) -> WholeReplay:
    """Verdicts of generations that end in from_ms .. to_ms; without ``era``, it is inferred.

    ``cluster``: see `infer_era`.
    """
    classic = incarnations(evidence.group_id, evidence.events, evidence.records)
    modern = modern_incarnations(evidence)
    events = {each.number: each.events for each in classic}
    replayed = {
        each.number: _replay(
            each, evidence.names, _eras(each, events.get(each.number, ()), era, cluster)
        )
        for each in modern
    }
    runs = {number: run for number, (run, _) in replayed.items()}
    generations = [each for _, of_run in replayed.values() for each in of_run]
    result = ModernReplay(
        evidence.group_id,
        next((run.eras for run in runs.values()), None),
        [each for each in generations if from_ms <= each.ends_ms and each.begins_ms <= to_ms],
        [each for run in runs.values() for each in run.resumed_from],
        sorted({each for run in runs.values() for each in run.unnamed_topics}),
        {topic_id: name for run in runs.values() for topic_id, name in run.names.items()},
    )
    phases, takeovers = _classic_phases(classic, modern, runs)
    return WholeReplay(
        replay(
            phases,
            era=era,
            from_ms=from_ms,
            to_ms=to_ms,
            offset_versions=offset_versions,
            cluster=cluster,
            committed=committed,
            takeovers=takeovers,
        ),
        result,
    )


def _replay(
    incarnation: ModernIncarnation,
    names: Mapping[str, str],
    eras: Eras,
) -> tuple[IncarnationReplay, list[ModernGeneration]]:
    """The replay with the broker's default assignor that reproduces most generations."""
    best: tuple[IncarnationReplay, list[ModernGeneration]] | None = None
    for assignor in ASSIGNORS:
        run = IncarnationReplay(incarnation, eras, names, assignor)
        generations = run.replay()
        if best is None or _diverged(generations) < _diverged(best[1]):
            best = run, generations
        if not any(_has_other_target(each) for each in best[1]):
            break
    assert best is not None
    return best


def _diverged(generations: Sequence[ModernGeneration]) -> int:
    return sum(each.divergence is not None for each in generations)


def _has_other_target(generation: ModernGeneration) -> bool:
    """Returns whether another assignor may have computed the target."""
    divergence = generation.divergence
    return divergence is not None and TARGET_MEMBER in divergence.what


def _eras(
    incarnation: ModernIncarnation,
    events: Iterable[LogEvent],
    requested: str | None,
    cluster: EraEvidence,
) -> Eras:
    """The requested era if it has these group types, else the inferred eras."""
    if requested is not None and ERAS[requested].modern is not None:
        return one_era(InferredEra(requested, "as requested"))

    def infer(period: Period) -> InferredEra:
        entries = [each for each in incarnation.entries if period.has(each.at_ms)]
        return modern_era(entries, within(cluster.versions, period))

    of_periods = eras_of_periods(events, cluster.of_brokers, infer)
    stretches = of_periods.stretches if of_periods else ()
    if modern := [each for each in stretches if ERAS[each.era.name].modern is not None]:
        return Eras(modern)
    return one_era(modern_era(incarnation.entries, cluster.versions))


def _classic_phases(
    classic: Sequence[Incarnation],
    modern: Sequence[ModernIncarnation],
    runs: Mapping[int, IncarnationReplay],
) -> tuple[list[Incarnation], list[Takeover | None]]:
    """The classic evidence, and for each part the engine that the downgrade before it left."""
    entries = {each.number: each.entries for each in modern}
    parts: list[Incarnation] = []
    takeovers: list[Takeover | None] = []
    for incarnation in classic:
        number = incarnation.number
        if number not in entries:
            parts.append(before_conversion(incarnation) if modern else incarnation)
            takeovers.append(None)
            continue
        phases = classic_phases(entries[number])
        parts += classic_evidence(incarnation, phases)
        takeovers += [
            None if each.begins is None else runs[number].takeovers.get(each.begins.place)
            for each in phases
        ]
    return parts, takeovers


def modern_incarnations(evidence: GroupEvidence) -> list[ModernIncarnation]:
    """Incarnations in which the group had a type other than classic at some time."""
    entries: dict[int, list[Entry]] = {}
    for row in sorted(evidence.stored, key=lambda each: each["log_offset"]):
        place = f"{row['topic_partition']}@{row['log_offset']}"
        value = None if row["value"] is None else bytes(row["value"])
        at_ms = row["at_ms"] or 0
        entries.setdefault(row["incarnation"], []).append(
            entry(at_ms, place, bytes(row["key"]), value)
        )
    lines: dict[int, list[GroupLine]] = {}
    for row in sorted(evidence.events, key=lambda each: each["event_seq"]):
        lines.setdefault(row["incarnation"], []).append(_line(row))
    return [
        ModernIncarnation(evidence.group_id, number, tuple(of_number), tuple(lines.get(number, ())))
        for number, of_number in sorted(entries.items())
        if any(each.group_type.has_epochs for each in of_number)
    ]


def _line(row: Mapping[str, Any]) -> GroupLine:
    return GroupLine(
        at_ms=row["at_ms"],
        place=f"broker {row['broker_id']} log {row['file_id']}:{row['position']}",
        event=row["event"],
        member_id=row["member_id"] or "",
        instance_id=row["instance_id"],
        old_member_id=row["old_member_id"],
        step=row["step"],
        reason=row["reason"],
        client_reason=row["client_reason"],
    )
