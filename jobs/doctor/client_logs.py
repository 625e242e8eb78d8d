"""Check consumers' logs: can they be read, what do they say, do their clocks differ?"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from coordinator_core.client_history import clocks_ahead_ms
from coordinator_core.client_history.memberships import ClientMembership
from coordinator_core.figures import SKEW_MS
from jobs.client_evidence import memberships_by_client
from jobs.doctor.log_samples import (
    LogKind,
    LogSample,
    SilentLog,
    check_samples,
    unreadable_lines,
)
from jobs.doctor.results import CheckResult, ok, warning
from jobs.lake.dates import DateRange
from jobs.sources.client_logs.client_log import FILES_LIKE, rows_of_stream
from jobs.sources.logs.entries import Unreadable
from jobs.sources.logs.kinds import kind_of_client_log, kind_of_undated_log

Row = dict[str, Any]
CHECK = "client log"
LOGS = LogKind(
    check=CHECK,
    option="--client-log",
    remedy="give the applications' logs: --client-log GLOB",
    name_like=FILES_LIKE,
    most_files=20,
)


def check_client_logs(
    pattern: str, timezone: str, since_ms: int | None = None
) -> Iterator[CheckResult]:
    """``timezone`` is the zone for dates that name none.  ``since_ms``: of --log-date."""
    events: list[Row] = []

    def results(sample: LogSample, zone: str) -> Iterator[CheckResult | SilentLog]:
        *rows, counts = _rows(sample, zone, since_ms)
        own = [row for row in rows if row["kind"] == "event"]
        events.extend(own)
        unreadable = [_unreadable(sample, row) for row in rows if row["kind"] == "quarantined"]
        yield _lines(sample, own, counts)
        yield from unreadable_lines(CHECK, sample, unreadable)

    yield from check_samples(LOGS, pattern, timezone, results)
    yield from _clocks(events)


def _rows(sample: LogSample, timezone: str, since_ms: int | None) -> list[Row]:
    """The events and unreadable lines, and at the end the counts."""
    batches = rows_of_stream(
        io.BytesIO(sample.text), sample.file, timezone, DateRange(), since_ms=since_ms
    )
    return [row for batch in batches for row in batch.to_pylist()]


def _unreadable(sample: LogSample, row: Row) -> Unreadable:
    position = row["position"]
    line_number = 1 + sample.text.count(b"\n", 0, position)
    return Unreadable(sample.file, position, line_number, row["reason_unreadable"], row["raw"])


def _lines(sample: LogSample, events: list[Row], counts: Row) -> CheckResult | SilentLog:
    text = f"{sample.name}: {len(events):,} of {counts['inputs']:,} lines are about membership"
    if not events:
        kind = kind_of_undated_log if counts["undated"] else kind_of_client_log
        return SilentLog(text, kind(sample.text))
    groups = sorted({row["group_id"] for row in events if row["group_id"] is not None})
    joins = sum(row["event"] == "JOINED" for row in events)
    libraries = ", ".join(sorted({row["library"] for row in events}))
    text += f" ({libraries}; groups {', '.join(groups) or 'not named'}; {joins:,} joins)"
    return ok(CHECK, text)


def _clocks(events: list[Row]) -> Iterator[CheckResult]:
    """Clients of one group are answered at one moment."""
    by_group: defaultdict[str, list[Row]] = defaultdict(list)
    for row in events:
        if row["group_id"] is not None:
            by_group[row["group_id"]].append(row)
    for group_id, rows in sorted(by_group.items()):
        clients = memberships_by_client(rows)
        for client, ahead_ms in sorted(clocks_ahead_ms(clients, {}).items()):
            if abs(ahead_ms) > SKEW_MS:
                word = "ahead of" if ahead_ms > 0 else "behind"
                yield warning(
                    "client clocks",
                    f"group {group_id}: the clock of {_name(client, clients[client])} is"
                    f" {abs(ahead_ms) / 1000:,.1f} s {word} that of another client",
                    "correct the hosts' clocks or --log-timezone; a run allows for the difference",
                )


def _name(client: tuple[str, ...], own: list[ClientMembership]) -> str:
    return next((each.client_id for each in own if each.client_id), None) or f"log {client[0]}"
