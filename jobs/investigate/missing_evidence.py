"""Names what the evidence cannot show, and the source that would show it.

A rule looks at the sources that were read and returns what is missing for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from coordinator_core.figures import counted
from coordinator_core.jvm.hash_codes import partition_for
from jobs.bronze.source_names import BROKER_LOG, CLIENT_LOG, END_OFFSETS

_RECORDS = frozenset({"segments", "dump", "kafka"})
_MARGIN = timedelta(minutes=10)  # time added before and after the evidence
_NAMED = 5
# Events of client_events that are useful even without their group.
_EVENTS = {
    "POLL_TIMEOUT": "poll timeout",
    "SESSION_EXPIRED": "expired session",
    "FENCED": "fenced member",
    "PARTITIONS_LOST": "lost assignment",
}


class Missing(NamedTuple):
    """``unknown`` says what nothing shows without the evidence.  ``how`` says how to get the
    evidence, and names the option that reads it.
    """

    evidence: str
    unknown: str
    how: str


class Seen(NamedTuple):
    """``sources`` are the sources with an input that was understood, or only lacks dates.
    ``undated_files`` has files by the way to give their dates.  ``without_group`` says what clients
    logged without naming their group.  ``partitions``: the partition of __consumer_offsets of each
    group for which the evidence names it.  ``first``, ``last``: The times are None if no group has
    a time.
    """

    sources: frozenset[str]
    group_ids: tuple[str, ...]
    partitions: Mapping[str, str]
    undated_files: Mapping[str, Sequence[str]]
    without_group: Sequence[str]
    clocks: Sequence[str]
    first: datetime | None
    last: datetime | None


def missing_evidence(seen: Seen) -> list[Missing]:
    return [missing for rule in _RULES for missing in rule(seen)]


def _records(seen: Seen) -> Iterator[Missing]:
    if not seen.sources & _RECORDS:
        where = _partitions(seen)
        yield Missing(
            "records of __consumer_offsets",
            "assignments of all members, moved partitions, partition downtime, commits",
            f"copy the .log files of {where} from a broker's log.dirs and add --segments FOLDER, or"
            " add --dump FILE with the output of kafka-dump-log or kcat",
        )


def _broker_log(seen: Seen) -> Iterator[Missing]:
    if BROKER_LOG not in seen.sources:
        where = _partitions(seen)
        yield Missing(
            "the coordinator's log",
            "why each rebalance began, how long it waited for members, superseded rebalances",
            f"copy server.log of the brokers that lead {where}{_span(seen)}, and add"
            " --broker-log FILE",
        )


def _client_logs(seen: Seen) -> Iterator[Missing]:
    if CLIENT_LOG not in seen.sources:
        yield Missing(
            "the consumers' logs",
            "what a consumer did before it left or its session expired: slow polls, errors",
            f"log the Kafka client library at INFO, copy the applications' logs{_span(seen)}, and"
            " add --client-log FILE",
        )


def _dates(seen: Seen) -> Iterator[Missing]:
    for how, names in seen.undated_files.items():
        yield Missing(
            "dates of log lines",
            f"times of lines without a complete date in {_some(names)}",
            how,
        )


def _groups(seen: Seen) -> Iterator[Missing]:
    if seen.without_group:
        yield Missing(
            "the groups of clients",
            f"the group of {_some(seen.without_group)}",
            "log more of the client library, with librdkafka debug=cgrp,consumer, so that its lines"
            " name the group",
        )


def _zones(seen: Seen) -> Iterator[Missing]:
    if seen.clocks:
        yield Missing(
            "the time zones of dates",
            "whether these clocks differ, or the time zones of their dates: "
            f"{_some(seen.clocks)}; the answer has corrected times",
            "print the time zone in each date, or add --log-timezone ZONE",
        )


def _end_offsets(seen: Seen) -> Iterator[Missing]:
    if seen.sources & _RECORDS and END_OFFSETS not in seen.sources:
        yield Missing(
            "log end offsets",
            "lag, and whether records waited in a partition that made no progress",
            "while the problem lasts, run nightly or watch with --kafka, or save the output of "
            "kafka-get-offsets below a date every 10 s and add --end-offsets FILE",
        )


_RULES: list[Callable[[Seen], Iterator[Missing]]] = [
    *(_records, _broker_log, _client_logs, _end_offsets, _dates, _groups, _zones),
]


def _partitions(seen: Seen) -> str:
    """The groups' partitions: as the evidence names them, else in a topic of default size."""
    if not seen.group_ids:
        return "the partitions of __consumer_offsets"
    named = {int(name.rpartition("-")[2]) for name in seen.partitions.values()}
    others = [group_id for group_id in seen.group_ids if group_id not in seen.partitions]
    numbers = sorted(named.union(map(partition_for, others)))
    condition = " (if the topic has 50 partitions)" if others else ""
    return _some([f"__consumer_offsets-{number}" for number in numbers]) + condition


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _span(seen: Seen) -> str:
    if seen.first is None or seen.last is None:
        return ""
    first, last = seen.first - _MARGIN, seen.last + _MARGIN
    return f" from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"


def seen_in(
    groups: list[dict[str, Any]],
    files: list[dict[str, Any]],
    *,
    partitions: list[dict[str, Any]],
    undated_files: Mapping[str, Sequence[str]],
    without_group: list[dict[str, Any]],
    clocks: Sequence[str],
    has_end_offsets: bool,
) -> Seen:
    """What the rows of `jobs.investigate.answer` show about sources, groups and times."""
    times = [
        time
        for row in groups
        for name in ("first_seen", "first_time", "last_seen", "last_time")
        if (time := row.get(name)) is not None
    ]
    return Seen(
        sources=frozenset(file["source"] for file in files if file["understood"] or file["undated"])
        | ({END_OFFSETS} if has_end_offsets else frozenset()),
        group_ids=tuple(row["group_id"] for row in groups),
        partitions={row["group_id"]: row["topic_partition"] for row in partitions},
        undated_files=undated_files,
        without_group=[_logged(row) for row in without_group],
        clocks=clocks,
        first=min(times, default=None),
        last=max(times, default=None),
    )


def _logged(row: dict[str, Any]) -> str:
    what = counted(row["lines"], _EVENTS[row["event"]])
    client = f" of {row['client_id']}" if row["client_id"] else ""
    return f"{what}{client} ({row['first']:%Y-%m-%d %H:%M:%S})"
