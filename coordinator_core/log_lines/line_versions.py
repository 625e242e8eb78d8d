"""The versions whose software logs a line, by the wordings that the line fits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import schemas.log_lines as data
from coordinator_core.client.libraries import named_by
from coordinator_core.log_lines.client_lines import parse_client_line
from coordinator_core.log_lines.lines import parse_line
from coordinator_core.log_lines.templates import Template
from coordinator_core.log_lines.version_ranges import (
    Ranges,
    common,
    consistent,
    ranges_of,
    united,
)
from coordinator_core.log_lines.wordings import (
    Wording,
    WordingIndex,
    line_wordings,
    reason_wordings,
)

_KAFKA = "java"  # source "java": a broker logs the version of Kafka's classes
BROKERS = "broker"  # source "broker": a log shows API versions or features of brokers


class SeenClient(NamedTuple):
    """A client's library; ``versions`` is None if the evidence does not limit them."""

    library: str
    versions: Ranges | None


def broker_versions(line: str, reason: str | None) -> list[Ranges]:
    """The versions of the wordings that a coordinator's line and its reason fit."""
    parsed = parse_line(line)
    texts = [] if parsed is None else [_of_lines().versions(parsed.message)]
    if reason is not None:
        texts.append(_of_reasons().versions(reason))
    return [ranges for ranges in texts if ranges is not None]


def versions_of_logs(rows: Iterable[Any]) -> Ranges:
    """The versions of brokers by their logs, and by the API versions and features in any log; all
    versions if these do not limit them.

    ``rows`` are rows of schemas/evidence/broker_versions.sql.  A log that names several versions
    is of a broker that was upgraded: its wordings are of several versions, too, and do not count.
    """
    rows = list(rows)
    of_lines: dict[str, set[Ranges]] = defaultdict(set)
    named: dict[str, Ranges] = {}
    for row in rows:
        if row["line"] is not None:
            of_lines[row["file_id"]].update(broker_versions(row["line"], row["reason"]))
        if row["is_of_broker"] and (versions := versions_named(row["software"], _KAFKA)):
            named[row["file_id"]] = united(versions)
    of_logs = {file_id: consistent(ranges) for file_id, ranges in of_lines.items() if ranges}
    offered = consistent(each for row in rows for each in versions_named(row["software"], BROKERS))
    # API versions may come from another broker, or from another time, than the log.
    of_brokers = [common(each, offered) or each for each in (of_logs | named).values()]
    return united(of_brokers) or offered


def versions_named(software: str | None, name: str) -> list[Ranges]:
    """The versions of one software in a value of ``ingested_files.software``."""
    entries = [each.partition(" ") for each in (software or "").splitlines()]
    return [ranges_of(versions) for entry, _, versions in entries if entry == name]


def client_of_line(line: str) -> SeenClient | None:
    """The library that logged a line, or None if no consumer did."""
    parsed = parse_client_line(line)
    if parsed is None:
        return None
    return SeenClient(parsed.library, _of_clients(parsed.library).versions(parsed.message))


def client_of_id(client_id: str) -> SeenClient | None:
    """The library whose default client id this is, or None for any other id."""
    named = named_by(client_id)
    if named is None:
        return None
    library, version = named
    return SeenClient(library, ranges_of(version) if version else None)


class _Texts:
    """Versions by text, of all wordings with the text."""

    def __init__(self, wordings: Iterable[Wording]) -> None:
        listed = list(wordings)
        self._index = WordingIndex(listed)
        self._versions: dict[str, list[str]] = {}
        for wording in listed:
            self._versions.setdefault(wording.template.text, []).append(wording.versions)

    def versions(self, message: str) -> Ranges | None:
        """Returns None if no wording fits, or if a wording that fits does not say its versions."""
        match = self._index.find(message)
        versions = self._versions[match[0].template.text] if match else [""]
        return ranges_of(", ".join(versions)) if all(versions) else None


@cache
def _of_lines() -> _Texts:
    return _Texts(line_wordings())


@cache
def _of_reasons() -> _Texts:
    return _Texts(reason_wordings())


@cache
def _of_clients(library: str) -> _Texts:
    files = map(data.client_library, data.client_libraries())
    names = zip(data.client_libraries(), files, strict=True)
    return _Texts(
        Wording(
            template=Template(each["text"].replace("{group_id}", "{group_id_first}")),
            coordinator=library,
            versions=each.get("versions", ""),
            event=each["event"],
        )
        for name, file in names
        if file.get("library", name) == library
        for each in file["wordings"]
    )
