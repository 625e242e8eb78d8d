"""Rows of the table findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from functools import cache
from typing import Any

from coordinator_core.jvm.hash_codes import partition_for
from jobs.known_problems.judgement import judged, may_be_found
from jobs.known_problems.search import Evidence, Row, ms_of, rows_of_symptoms, with_needs_met
from jobs.known_problems.versions import VersionEvidence
from schemas import table_key
from schemas.known_problems import FINDING_COLUMNS, KnownProblem

# Maximum number of evidence lines that a finding keeps, and their maximum length.
MOST_LINES = 5
LONGEST_LINE = 500
# Maximum number of names in a sentence; further names are counted.
MOST_NAMES = 5
OFFSETS = "__consumer_offsets-"
DEFAULT_PARTITIONS = 50
MOST_PARTITIONS = 1000
UNKNOWN_BROKER = -1  # broker id for lines of a log that names no broker

GroupDays = Iterable[tuple[str, str | None, date]]
"""Groups, their partitions of `__consumer_offsets` if known, and the first date of each."""


def _raise(problem: KnownProblem, error: Exception) -> None:
    raise error


def findings_of(
    problems: Iterable[KnownProblem],
    evidence: Evidence,
    groups: Callable[[], GroupDays],
    versions: VersionEvidence | None = None,
    failed: Callable[[KnownProblem, Exception], None] = _raise,
) -> list[Row]:
    """Rows of the table without ``cluster_id``, in a fixed order, one per key.

    ``groups`` are called if a finding is about a partition of `__consumer_offsets`.  ``versions``
    is by default the versions in the evidence.  `rows_of_symptoms` explains ``failed``; the default
    raises the error.
    """
    seen = versions or VersionEvidence(evidence)
    groups_of_partition = _GroupsOfPartition(groups)
    possible = [each for each in with_needs_met(problems, evidence) if may_be_found(each, seen)]
    rows = [
        finding
        for problem, of_symptom in rows_of_symptoms(possible, evidence, failed)
        for finding in _findings(problem, of_symptom, seen, groups_of_partition)
    ]
    key = [name for name in table_key("findings") if name != "cluster_id"]
    in_order = sorted(rows, key=lambda row: [str(value) for value in row.values()])
    return list({tuple(row[name] for name in key): row for row in in_order}.values())


def _findings(
    problem: KnownProblem, rows: list[Row], versions: VersionEvidence, groups: _GroupsOfPartition
) -> Iterator[Row]:
    for row in rows:
        confidence = row.get("confidence") or problem.confidence
        seen = versions.of(problem.component, row) if problem.component else None
        judgement = judged(problem, float(confidence), seen)
        if judgement is None:
            continue
        own: Row = dict.fromkeys(FINDING_COLUMNS) | {n: row.get(n) for n in FINDING_COLUMNS}
        from_time = _time(row["from_time"])
        texts = _Texts(row, groups, from_time.date())
        summary = problem.summary.format_map(texts)
        yield own | {
            "finding": problem.id,
            "kind": problem.kind,
            "event_date": from_time.date(),
            "from_time": from_time,
            "to_time": _time(row["to_time"]) if row.get("to_time") is not None else None,
            "confidence": judgement.confidence,
            "version_seen": judgement.version_seen,
            "version": judgement.version,
            "summary": f"{summary} ({judgement.caveat})" if judgement.caveat else summary,
            "remedy": problem.remedy.format_map(texts),
            "evidence": _lines(row.get("evidence")),
            "reference": "\n".join(problem.references),
        }


def _time(value: datetime | int) -> datetime:
    at_ms = ms_of(value)
    assert at_ms is not None
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def _lines(evidence: str | list[str | None] | None) -> str | None:
    """The first lines of a text, or of a list of texts in their order."""
    texts = [evidence] if isinstance(evidence, str) else evidence or []
    lines = [line for text in texts if text for line in text.splitlines() if line.strip()]
    kept = [line[:LONGEST_LINE] for line in dict.fromkeys(lines)][:MOST_LINES]
    return "\n".join(kept) or None


class _Texts(dict[str, str]):
    """The columns of a symptom's row as texts for a sentence.

    ``groups``: if the symptom does not have this column, the groups of ``topic_partition``.
    ``broker``: see `schemas.known_problems`.
    """

    def __init__(self, row: Row, groups: _GroupsOfPartition, day: date) -> None:
        super().__init__((name, _text(value)) for name, value in row.items())
        self._row, self._groups, self._day = row, groups, day

    def __missing__(self, name: str) -> str:
        if name == "broker":
            broker_id = self._row["broker_id"]
            return "the broker" if broker_id in (None, UNKNOWN_BROKER) else f"broker {broker_id}"
        if name != "groups":
            raise KeyError(name)
        return _text(self._groups.of(self._row["topic_partition"], self._day)) or "none known"


def _text(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, list):
        names = [str(each) for each in value[:MOST_NAMES]]
        more = len(value) - len(names)
        return ", ".join(names) + (f" and {more} more" if more else "")
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value)


class _GroupsOfPartition:
    """The groups that a partition of `__consumer_offsets` holds, by the hash of their ids."""

    def __init__(self, groups: Callable[[], GroupDays]) -> None:
        self._known = cache(lambda: list(groups()))

    def of(self, topic_partition: str, day: date) -> list[str]:
        """The groups seen up to this date."""
        partitions = self._partitions()
        return sorted(
            group_id
            for group_id, stored_in, since in self._known()
            if since <= day
            and topic_partition == (stored_in or f"{OFFSETS}{partition_for(group_id, partitions)}")
        )

    def _partitions(self) -> int:
        """The number of partitions that agrees with the groups whose partition is known."""
        stored = {
            (group_id, int(stored_in.removeprefix(OFFSETS)))
            for group_id, stored_in, _ in self._known()
            if stored_in is not None
        }
        least = 1 + max((partition for _, partition in stored), default=0)
        candidates = (DEFAULT_PARTITIONS, *range(least, MOST_PARTITIONS))
        return next(
            (n for n in candidates if all(partition_for(g, n) == p for g, p in stored)),
            DEFAULT_PARTITIONS,
        )
