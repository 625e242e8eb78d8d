"""The eras of a group's coordinators: an upgrade of the brokers changes them in mid-history.

When a broker loads the group, a new section of the log begins.  The version of the broker is known
if it was restarted and its log names versions.  Otherwise, the logged reasons and the lines about
loads tell the Scala coordinator from the Java coordinator.  All sections with the same versions
share the era that their evidence shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.era_evidence import (
    NO_EVIDENCE,
    BrokerVersion,
    EraEvidence,
    InferredEra,
)
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.incident.broker_settings import infer_era
from coordinator_core.incident.evidence import Incarnation, LogEvent
from coordinator_core.log_lines.version_ranges import Ranges, common, ranges_of, united

# Scala prints options in this form; all other reasons look the same in both coordinators.
_SCALA_WORDS = re.compile(r"group instance id (None|Some\()|on LeaveGroup")
# Only the Java coordinator responds after an append.
_OF_SCALA, _OF_JAVA = (
    united(ranges_of(each.versions) for each in ERAS.values() if each.answers_after_append is java)
    for java in (False, True)
)


class Stretch(NamedTuple):
    """``from_ms`` says since when the coordinators are of this era."""

    from_ms: int
    era: InferredEra


class Eras:
    """``stretches`` are in order of time, the first from the beginning on."""

    def __init__(self, stretches: Sequence[Stretch]) -> None:
        self.stretches = stretches

    @property
    def last(self) -> InferredEra:
        return self.stretches[-1].era

    def stretch_at(self, at_ms: int) -> Stretch:
        begun = [each for each in self.stretches if each.from_ms <= at_ms]
        return begun[-1] if begun else self.stretches[0]

    def inferred_at(self, at_ms: int) -> InferredEra:
        return self.stretch_at(at_ms).era

    def at(self, at_ms: int) -> Era:
        return ERAS[self.inferred_at(at_ms).name]


def one_era(era: InferredEra) -> Eras:
    return Eras([Stretch(0, era)])


class Period(NamedTuple):
    """Times (from, to) in ms in which the coordinators had these versions; ``to`` None: open."""

    times: Sequence[tuple[int, int | None]]
    versions: Ranges

    def has(self, at_ms: int) -> bool:
        return any(a <= at_ms and (b is None or at_ms < b) for a, b in self.times)


def infer_eras(
    incarnations: Sequence[Incarnation],
    offset_versions: Iterable[int] = (),
    cluster: EraEvidence = NO_EVIDENCE,
) -> Eras:
    """`infer_era` explains ``offset_versions`` and ``cluster``."""
    versions = set(offset_versions)

    def infer(period: Period) -> InferredEra:
        written = [each.offset_value_version for each in _eras_of(period.versions)]
        return infer_era(
            [_within(each, period) for each in incarnations],
            {each for each in versions if not written or each <= max(written)},
            replace(cluster, versions=within(cluster.versions, period)),
        )

    events = [event for each in incarnations for event in each.events]
    of_periods = eras_of_periods(events, cluster.of_brokers, infer)
    return of_periods or one_era(infer_era(incarnations, versions, cluster))


def eras_of_periods(
    events: Iterable[LogEvent],
    of_brokers: Sequence[BrokerVersion],
    infer: Callable[[Period], InferredEra],
) -> Eras | None:
    """Returns None if the coordinators' version did not change.

    ``infer`` returns the era of a period.
    """
    coordinators = _coordinators(events, of_brokers)
    limits = {limit for _, limit in coordinators}
    if len(limits) < 2:
        return None
    ends = [from_ms for from_ms, _ in coordinators[1:]]
    spans = list(zip(coordinators, [*ends, None], strict=True))
    eras = {}
    for limit in limits:
        times = [(from_ms, to_ms) for (from_ms, of), to_ms in spans if of == limit]
        eras[limit] = infer(Period(times, limit))
    stretches = [Stretch(from_ms, eras[limit]) for from_ms, limit in coordinators]
    changed = (after for before, after in pairwise(stretches) if before.era != after.era)
    return Eras([stretches[0], *changed])


def within(versions: Ranges, period: Period) -> Ranges:
    """The given versions that the period allows; all the period's versions if it allows none."""
    return common(versions, period.versions) or period.versions


def _eras_of(limit: Ranges) -> list[Era]:
    return [each for each in ERAS.values() if common(ranges_of(each.versions), limit)]


def _coordinators(
    events: Iterable[LogEvent], of_brokers: Sequence[BrokerVersion]
) -> list[tuple[int, Ranges]]:
    """Times in ms at which the coordinator's versions changed, and its versions from then on."""
    stretches: list[list[LogEvent]] = [[]]
    for event in events:
        if event.event == "LOADED" and event.step in (None, "group"):
            stretches.append([])
        stretches[-1].append(event)
    shown = [
        (of[0].at_ms, limit)
        for of in stretches
        if of and (limit := _version_by_restarts(of[0], of_brokers) or _versions_by_lines(of))
    ]
    if not shown:
        return []
    changed = [after for before, after in pairwise(shown) if before[1] != after[1]]
    return [(0, shown[0][1]), *changed]


def _version_by_restarts(first: LogEvent, of_brokers: Sequence[BrokerVersion]) -> Ranges | None:
    """The version of the broker that logged the line, by its restarts."""
    versions = [
        each.version
        for each in of_brokers
        if first.broker == f"broker {each.broker_id}" and each.from_ms <= first.at_ms
    ]
    return ranges_of(versions[-1]) if versions and versions[-1] else None


def _versions_by_lines(stretch: Sequence[LogEvent]) -> Ranges | None:
    """The versions of the Scala or the Java coordinator, by the line about the load, else by the
    logged reasons, or None if neither shows the coordinator.
    """
    first = stretch[0]
    # The Java coordinator logs the number of loaded members, the Scala coordinator the generation.
    has_count, has_generation = first.member_count is not None, first.generation is not None
    if first.event == "LOADED" and has_count is not has_generation:
        return _OF_JAVA if has_count else _OF_SCALA
    reasons = [each.reason for each in stretch if each.reason]
    if EraEvidence(reasons=reasons).has_java_wording:
        return _OF_JAVA
    return _OF_SCALA if any(map(_SCALA_WORDS.search, reasons)) else None


def _within(incarnation: Incarnation, period: Period) -> Incarnation:
    return incarnation._replace(
        events=tuple(each for each in incarnation.events if period.has(each.at_ms)),
        records=tuple(each for each in incarnation.records if period.has(each.at_ms)),
    )
