"""The eras of a group's coordinators: an upgrade of the brokers changes them in mid-history.

A load of the group by a broker begins a stretch.  The Scala coordinator (up to 3.9) and the Java
one (from 4.0) log other reasons, and other lines when they load a group, so that each stretch is of
one of the two.  All stretches of one coordinator share the era that their evidence shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.era_evidence import NO_EVIDENCE, EraEvidence, InferredEra
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.incident.broker_settings import infer_era
from coordinator_core.incident.evidence import Incarnation, LogEvent
from coordinator_core.log_lines.version_ranges import common, ranges_of

# Scala prints options so; the Java coordinator shares its other reasons.
_SCALA_WORDS = re.compile(r"group instance id (None|Some\()|on LeaveGroup")
# Commits of Kafka up to 3.9 have at most this version.
_SCALA_OFFSET_VERSION = 3
_OF_SCALA, _OF_JAVA = "-3.9", "4.0-"


class Stretch(NamedTuple):
    """``from_ms``: since when the coordinators are of this era."""

    from_ms: int
    era: InferredEra


class Eras:
    """``stretches``: in order of time, the first from the beginning on."""

    def __init__(self, stretches: Sequence[Stretch]) -> None:
        self.stretches = stretches

    @property
    def last(self) -> InferredEra:
        return self.stretches[-1].era

    def inferred_at(self, at_ms: int) -> InferredEra:
        begun = [each.era for each in self.stretches if each.from_ms <= at_ms]
        return begun[-1] if begun else self.stretches[0].era

    def at(self, at_ms: int) -> Era:
        return ERAS[self.inferred_at(at_ms).name]


def one_era(era: InferredEra) -> Eras:
    return Eras([Stretch(0, era)])


def infer_eras(
    incarnations: Sequence[Incarnation],
    offset_versions: Iterable[int] = (),
    cluster: EraEvidence = NO_EVIDENCE,
) -> Eras:
    """``offset_versions``, ``cluster``: see `infer_era`."""
    versions = set(offset_versions)
    events = [event for each in incarnations for event in each.events]
    coordinators = _coordinators(events)
    kinds = {is_java for _, is_java in coordinators}
    if kinds != {False, True}:
        return one_era(infer_era(incarnations, versions, cluster))
    ends = [from_ms for from_ms, _ in coordinators[1:]]
    periods = list(zip(coordinators, [*ends, None], strict=True))
    eras = {}
    for kind in kinds:
        times = [(from_ms, to_ms) for (from_ms, is_java), to_ms in periods if is_java is kind]
        newest = {each for each in versions if kind or each <= _SCALA_OFFSET_VERSION}
        of_kind = common(cluster.versions, ranges_of(_OF_JAVA if kind else _OF_SCALA))
        eras[kind] = infer_era(
            [_within(each, times) for each in incarnations],
            newest,
            replace(cluster, versions=of_kind),
        )
    return Eras([Stretch(from_ms, eras[is_java]) for from_ms, is_java in coordinators])


def _coordinators(events: Iterable[LogEvent]) -> list[tuple[int, bool]]:
    """Since when the coordinator is the Java one, or the Scala one."""
    stretches: list[list[LogEvent]] = [[]]
    for event in events:
        if event.event == "LOADED" and event.step in (None, "group"):
            stretches.append([])
        stretches[-1].append(event)
    shown = [(of[0].at_ms, kind) for of in stretches if (kind := _is_java(of)) is not None]
    if not shown:
        return []
    changed = [after for before, after in pairwise(shown) if before[1] is not after[1]]
    return [(0, shown[0][1]), *changed]


def _is_java(stretch: Sequence[LogEvent]) -> bool | None:
    """By the line about the load, else by the reasons that are logged; None if neither shows it."""
    # The Java coordinator logs how many members it loaded, the Scala one the generation.
    for first in stretch[:1]:
        has_count, has_generation = first.member_count is not None, first.generation is not None
        if first.event == "LOADED" and has_count is not has_generation:
            return has_count
    reasons = [each.reason for each in stretch if each.reason]
    if EraEvidence(reasons=reasons).has_java_wording:
        return True
    return False if any(map(_SCALA_WORDS.search, reasons)) else None


def _within(incarnation: Incarnation, times: Sequence[tuple[int, int | None]]) -> Incarnation:
    def is_within(at_ms: int) -> bool:
        return any(a <= at_ms and (b is None or at_ms < b) for a, b in times)

    return incarnation._replace(
        events=tuple(each for each in incarnation.events if is_within(each.at_ms)),
        records=tuple(each for each in incarnation.records if is_within(each.at_ms)),
    )
