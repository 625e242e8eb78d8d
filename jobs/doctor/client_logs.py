"""Check consumers' logs: can they be read, what do they say, do their clocks differ?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from coordinator_core.client_history import clocks_ahead_ms
from coordinator_core.client_history.memberships import Membership
from jobs.client_evidence import memberships_by_client
from jobs.command_line.config import valid_timezone
from jobs.console.errors import UsageError
from jobs.doctor.results import CheckResult, failure, ok, warning
from jobs.sources.client_log import FILES_LIKE, client_rows
from jobs.sources.files import list_files
from jobs.sources.rows import DateRange

CHECK = "client log"
MOST_FILES = 20
SKEW_MS = 1000
NEEDED = (
    "expected for an application without consumers; else log org.apache.kafka.clients.consumer at"
    " INFO, kafka.coordinator of kafka-python with its logger's name, or librdkafka with"
    " debug=cgrp,consumer"
)


def check_client_logs(pattern: str, timezone: str) -> Iterator[CheckResult]:
    """``timezone``: the zone for dates that name none."""
    try:
        zone = valid_timezone(timezone)
        files = list_files(pattern, "--client-log", name_like=FILES_LIKE)
    except UsageError as error:
        yield failure(CHECK, str(error), "give the applications' logs: --client-log GLOB")
        return
    if len(files) > MOST_FILES:
        yield ok(CHECK, f"{len(files)} files; checking {MOST_FILES}")
    events: list[dict[str, Any]] = []
    for file in files[:MOST_FILES]:
        try:
            rows = [r for batch in client_rows(file, zone, DateRange()) for r in batch.to_pylist()]
        except OSError as error:
            remedy = "let this user read it"
            yield failure(CHECK, f"{file} cannot be read: {error.strerror or error}", remedy)
            continue
        own = [row for row in rows if row["kind"] == "event"]
        yield _lines(file, own, rows[-1])
        events += own
    yield from _clocks(events)


def _lines(file: str, events: list[dict[str, Any]], counts: dict[str, Any]) -> CheckResult:
    text = f"{file}: {len(events):,} of {counts['inputs']:,} lines say something of membership"
    if not events:
        return warning(CHECK, text, NEEDED)
    groups = sorted({row["group_id"] for row in events if row["group_id"] is not None})
    joins = sum(row["event"] == "JOINED" for row in events)
    libraries = ", ".join(sorted({row["library"] for row in events}))
    text += f" ({libraries}; groups {', '.join(groups) or 'not named'}; {joins:,} joins)"
    if counts["quarantined"]:
        remedy = "a run writes them to table quarantine and uses the other lines"
        return warning(CHECK, f"{text}; {counts['quarantined']:,} unreadable", remedy)
    return ok(CHECK, text)


def _clocks(events: list[dict[str, Any]]) -> Iterator[CheckResult]:
    """Clients of one group are answered at one moment."""
    by_group: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
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
                    "set the hosts' clocks, or --log-timezone; a run allows for the difference",
                )


def _name(client: tuple[str, ...], own: list[Membership]) -> str:
    return next((each.client_id for each in own if each.client_id), None) or f"log {client[0]}"
