"""Decides whether a problem is possible with the versions in the evidence, and with which
confidence.
"""

from __future__ import annotations

from typing import NamedTuple

from coordinator_core.log_lines.version_ranges import (
    are_within,
    common,
    ranges_of,
    text_of,
    words_of,
)
from jobs.known_problems.versions import SeenVersions, VersionEvidence
from schemas.known_problems import KnownProblem

# Factors of a finding's confidence if no version is known, and if the evidence allows affected and
# unaffected versions.
UNKNOWN_VERSION = 0.5
AMBIGUOUS_VERSION = 0.7
# Components that have another name in sentences.
_NAMES = {
    "broker": "the broker",
    "java": "Kafka's Java client",
    "streams": "Kafka Streams",
    "connect": "Kafka Connect",
}


class Judgement(NamedTuple):
    """``version_seen`` and ``version`` are as in the table findings.  ``caveat`` says what the
    summary adds, or empty.
    """

    confidence: float
    version_seen: bool | None = None
    version: str | None = None
    caveat: str = ""


def may_be_found(problem: KnownProblem, versions: VersionEvidence) -> bool:
    """Returns whether `judged` may return a judgement for some row of the symptom; False is
    certain.
    """
    return problem.component is None or problem.specific or versions.are_known(problem.component)


def judged(problem: KnownProblem, confidence: float, seen: SeenVersions | None) -> Judgement | None:
    """Returns None if the versions exclude the problem, or if they are unknown and other causes
    have the same symptom.

    ``confidence``: with an affected version.  ``seen`` is None for a problem without a
    component.
    """
    if problem.affected is None or seen is None:
        return Judgement(confidence)
    if seen.is_absent:
        return None
    affected = ranges_of(problem.affected)
    name = _NAMES.get(str(problem.component), problem.component)
    if seen.versions is None:
        caveat = f"the version of {name} is not in the evidence"
        return _uncertain(problem, confidence * UNKNOWN_VERSION, caveat, None)
    if not common(affected, seen.versions):
        return None
    version = text_of(seen.versions)
    if are_within(seen.versions, affected):
        return Judgement(confidence, True, version)
    caveat = f"the evidence allows {name} {words_of(seen.versions)}"
    return _uncertain(problem, confidence * AMBIGUOUS_VERSION, caveat, version)


def _uncertain(
    problem: KnownProblem, confidence: float, caveat: str, version: str | None
) -> Judgement | None:
    if not problem.specific:
        return None
    assert problem.affected is not None
    caveat = f"{caveat}; affected: {words_of(ranges_of(problem.affected))}"
    return Judgement(round(confidence, 2), False, version, caveat)
