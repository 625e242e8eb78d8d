"""The time in which each process of a modern group owned each partition: evidence, and rows.

Rules: `coordinator_core.modern_history.tenures`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta

from pyspark.sql.types import (
    BooleanType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.modern_history.evidence import Partition
from coordinator_core.modern_history.handovers import ACTIVE
from coordinator_core.modern_history.heartbeats import NOT_CONFIGURED
from coordinator_core.modern_history.history import History
from coordinator_core.modern_history.process_ends import Commits
from coordinator_core.modern_history.tenures import Ownership, Shutdown, Tenure, ownership
from coordinator_core.whatif.known_settings import KnownSettings
from jobs.lake.dates import NEVER_MS
from jobs.lake.keys import GROUP_KEY
from jobs.modern_history.rows import Names, Row, topics_of

# Kinds of evidence beyond records and departures.
REFUSALS, COMMITS = "refusals", "member_commits"
_EPOCH = date(1970, 1, 1)

TENURES = StructType(
    [
        StructField(name, type_, nullable=True)
        for name, type_ in {
            **{name: StringType() for name in GROUP_KEY},
            "incarnation": IntegerType(),
            "generation": IntegerType(),
            "topic": StringType(),
            "partition": IntegerType(),
            "process": StringType(),
            "member_id": StringType(),
            "event_date": DateType(),
            "from_ms": LongType(),
            "until_ms": LongType(),
            "latest_until_ms": LongType(),
            "polled_ms": LongType(),
            "departed_ms": LongType(),
            "heard_ms": LongType(),
            "due_ms": LongType(),
            "how": StringType(),
            "evidence": StringType(),
            "is_estimated": BooleanType(),
            "shutdown_ms": LongType(),
            "shutdown_generation": IntegerType(),
            "shutdown_date": DateType(),
            "stopped_ms": LongType(),
        }.items()
    ]
)


def with_refusals_and_commits(history: History, rows: Iterable[Row]) -> Commits:
    """Give each membership the times of its refusals; return the last commits of all members.

    ``rows`` are rows of the kinds REFUSALS and COMMITS, of the same incarnation as ``history``.
    """
    refusals: dict[str, list[int]] = {}
    commits: dict[tuple[str, int], dict[Partition, list[int]]] = {}
    for row in rows:
        if row.get("refused_id") is not None:
            refusals.setdefault(row["refused_id"], []).append(row["time_ms"])
        else:
            of_member = commits.setdefault((row["committer_id"], row["departed_ms"]), {})
            partition = (ACTIVE, row["subtopology"], row["topic_id"], row["partition"])
            of_member[partition] = row["commits"]
    for membership in history.memberships:
        membership.refused_ms = tuple(refusals.get(membership.member_id, ()))
    return commits


def tenure_rows(
    history: History, rows: Iterable[Row], names: Names, configured: KnownSettings
) -> Iterator[Row]:
    """The tenures of an incarnation; ``rows`` are its refusals and commits."""
    commits = with_refusals_and_commits(history, rows)
    # Classic members of a consumer group have timeouts of their own.
    of_types = [each.group_type for each in history.generations if each.group_type != CLASSIC.name]
    timing = configured.timing(of_types[-1]) if of_types else NOT_CONFIGURED
    owned = ownership(history, commits, timing)
    for tenure in owned.tenures:
        yield from _tenure_rows(tenure, owned, history, names)


def _tenure_rows(tenure: Tenure, owned: Ownership, history: History, names: Names) -> Iterator[Row]:
    _, subtopology, topic_id, partition = tenure.partition
    shutdown, departure = _shutdown_after(tenure, owned), tenure.departure
    for topic in topics_of(subtopology, topic_id, history, names):
        yield {
            "generation": tenure.generation,
            "topic": topic,
            "partition": partition,
            "process": tenure.process,
            "member_id": tenure.member_id,
            "event_date": _date(tenure.from_ms),
            "from_ms": tenure.from_ms,
            "until_ms": NEVER_MS if tenure.until_ms is None else tenure.until_ms,
            "latest_until_ms": departure and departure.back_ms,
            "polled_ms": tenure.polled_ms,
            "departed_ms": departure and departure.at_ms,
            "heard_ms": departure and departure.heard_ms,
            "due_ms": departure and departure.due_ms,
            "how": tenure.how,
            "evidence": tenure.by,
            "is_estimated": tenure.is_estimated,
            "shutdown_ms": shutdown and shutdown.at_ms,
            "shutdown_generation": shutdown and shutdown.generation,
            "shutdown_date": shutdown and _date(shutdown.at_ms),
            "stopped_ms": shutdown and shutdown.stopped_ms,
        }


def _shutdown_after(tenure: Tenure, owned: Ownership) -> Shutdown | None:
    return next((each for each in owned.shutdowns if each.at_ms >= tenure.from_ms), None)


def _date(ms: int) -> date:
    return _EPOCH + timedelta(days=ms // 86_400_000)
