"""The versions of brokers and client libraries that the evidence shows.

Brokers: by the version that they log when they start, by the wordings of their log lines, and by
what only some versions write into records.
Client libraries: by the version and the wordings in the clients' own logs, by default client ids
that name library and version, and by the version of subscriptions.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import NamedTuple

from coordinator_core.client.libraries import versions_of
from coordinator_core.log_lines.line_versions import (
    broker_versions,
    client_of_id,
    client_of_line,
    versions_named,
)
from coordinator_core.log_lines.version_ranges import (
    ALL_VERSIONS,
    Ranges,
    common_to_all,
    consistent,
    ranges_of,
    united,
)
from jobs.known_problems.search import Evidence, Row

BROKER = "broker"
JAVA = "java"
# Programs around a Java client of the same version.
OF_JAVA = ("streams", "connect")

# The query returns about one line per wording.
_BROKER_LINES = """
    SELECT broker_id, event, step, logger, cause, MIN(line) AS line, MIN(reason) AS reason
    FROM broker_log_events GROUP BY broker_id, event, step, logger, cause"""
_SOFTWARE = "SELECT file, software FROM ingested_files WHERE software IS NOT NULL"
_BROKER_FILES = "SELECT broker_id, file_id FROM broker_log_events GROUP BY broker_id, file_id"
_CLIENT_FILES = """
    SELECT group_id, client_id, library, file_id
    FROM client_events GROUP BY group_id, client_id, library, file_id"""
_GROUP_VERSIONS = "SELECT MAX(value_version) AS newest FROM group_metadata"
_OFFSET_VERSIONS = "SELECT MAX(value_version) AS newest FROM committed_offsets"
_TARGETS = """
    SELECT MAX(timestamp_ms) AS timed, COUNT(*) AS targets
    FROM group_records WHERE record LIKE '%TargetAssignmentMetadata' AND NOT tombstone"""
_CLIENT_LINES = """
    SELECT group_id, client_id, library, event, MIN(line) AS line
    FROM client_events GROUP BY group_id, client_id, library, event"""
_MEMBERS = """
    SELECT group_id, client_id, member_id FROM generation_members
    GROUP BY group_id, client_id, member_id"""
_SUBSCRIPTIONS = """
    SELECT group_id, member.client_id AS client_id,
        MAX(SUBSTR(HEX(member.subscription), 1, 4)) AS version
    FROM (SELECT group_id, EXPLODE(members) AS member FROM group_metadata) m
    WHERE member.subscribed_topics IS NOT NULL
    GROUP BY group_id, member.client_id"""
# With an older inter-broker protocol, a broker writes older versions.
_SINCE_GROUP_VERSION = {0: "0.9-", 1: "0.10.1-", 2: "2.1-", 3: "2.3-", 4: "2.3-"}
_SINCE_OFFSET_VERSION = {2: "2.1-", 3: "2.1-", 4: "4.0-"}

# Versions by the name of a library or framework. None: not limited.
Software = dict[str, Ranges | None]


class SeenVersions(NamedTuple):
    """The versions of a component that the evidence shows.

    ``versions``: None if nothing.  ``is_absent`` means that other software is in its place.
    """

    versions: Ranges | None
    is_absent: bool = False


class VersionEvidence:
    """The versions in one cluster's evidence; a query runs when the first finding needs it."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence

    def of(self, component: str, row: Row) -> SeenVersions:
        """The versions of the broker or the clients that a symptom's row is about."""
        if component == BROKER:
            return SeenVersions(self._of_broker(row.get("broker_id")))
        return self._of_clients(JAVA if component in OF_JAVA else component, row)

    def are_known(self, component: str) -> bool:
        """Returns whether the evidence limits the versions of any broker or client of this kind."""
        if component == BROKER:
            return bool(self._brokers) or self._of_records is not None
        return (JAVA if component in OF_JAVA else component) in self._limited

    def _rows(self, table: str, select: str) -> list[Row]:
        return self._evidence.rows(select) if self._evidence.has(table) else []

    # -- brokers -----------------------------------------------------------------------------------

    def _of_broker(self, broker_id: int | None) -> Ranges | None:
        by_id = self._brokers
        if broker_id in by_id:
            return by_id[broker_id]
        return united(by_id.values()) if by_id else self._of_records

    @cached_property
    def _brokers(self) -> dict[int | None, Ranges]:
        """By broker id."""
        lines: dict[int | None, set[Ranges]] = defaultdict(set)
        for row in self._rows("broker_log_events", _BROKER_LINES):
            lines[row["broker_id"]].update(broker_versions(row["line"], row["reason"]))
        for row in self._rows("broker_log_events", _BROKER_FILES):
            # A broker logs the version of Kafka's classes.
            lines[row["broker_id"]].update(self._named(row["file_id"], JAVA))
        of_records = self._of_records or ALL_VERSIONS
        return {id: consistent([*each, of_records]) for id, each in lines.items() if each}

    def _named(self, file_id: str, library: str) -> list[Ranges]:
        """The versions that start-up lines of the log name; several after an upgrade."""
        versions = versions_named(self._software_of_files.get(file_id), library)
        return [united(versions)] if versions else []

    @cached_property
    def _software_of_files(self) -> dict[str, str]:
        return {row["file"]: row["software"] for row in self._rows("ingested_files", _SOFTWARE)}

    @cached_property
    def _of_records(self) -> Ranges | None:
        """Returns None without records."""
        texts = []
        for table, select, since in (
            ("group_metadata", _GROUP_VERSIONS, _SINCE_GROUP_VERSION),
            ("committed_offsets", _OFFSET_VERSIONS, _SINCE_OFFSET_VERSION),
        ):
            newest = self._rows(table, select)
            texts += [since[row["newest"]] for row in newest if row["newest"] in since]
        for row in self._rows("group_records", _TARGETS):
            if row["targets"]:
                texts.append("4.3-" if row["timed"] is not None else "3.7-4.2")
        return common_to_all(map(ranges_of, texts)) if texts else None

    # -- clients -----------------------------------------------------------------------------------

    def _of_clients(self, library: str, row: Row) -> SeenVersions:
        """The versions of the row's member, else of all members of its group."""
        clients = self._clients_of(row)
        own = {id: each[library] for id, each in clients.items() if library in each}
        if len(own) > 1:  # Lines without a client id are about the remaining clients.
            own.pop("", None)
        limited = [ranges for ranges in own.values() if ranges is not None]
        if own and len(limited) == len(own):
            return SeenVersions(united(limited))
        is_absent = bool(clients) and not own and all(clients.values())
        return SeenVersions(None, is_absent=is_absent)

    def _clients_of(self, row: Row) -> dict[str, Software]:
        """The software by client id; empty software means an unknown library."""
        group_id = row.get("group_id")
        group = self._clients.get(group_id, {})
        own = [
            client_id
            for client_id, member_ids in group.items()
            if row.get("member_id") in member_ids or row.get("client_id") == client_id
        ]
        return {client_id: self._software(group_id, client_id) for client_id in own or group}

    @cached_property
    def _clients(self) -> dict[str | None, dict[str, set[str]]]:
        """Member ids by client id, by group."""
        clients: dict[str | None, dict[str, set[str]]] = defaultdict(dict)
        for row in self._rows("generation_members", _MEMBERS):
            of_group = clients[row["group_id"]]
            of_group.setdefault(row["client_id"] or "", set()).add(row["member_id"])
        for group_id, client_id in self._logged:
            clients[group_id].setdefault(client_id, set())
        return clients

    @cached_property
    def _limited(self) -> set[str]:
        """The libraries and frameworks of which the version of some client is limited."""
        return {
            name
            for group_id, of_group in self._clients.items()
            for client_id in of_group
            for name, ranges in self._software(group_id, client_id).items()
            if ranges is not None
        }

    def _software(self, group_id: str | None, client_id: str) -> Software:
        """The software of a client: by its own lines, else by its client id."""
        software = self._logged.get((group_id, client_id), {})
        of_id = client_of_id(client_id)
        if of_id is not None and software.get(of_id.library) is None:
            software = software | {of_id.library: of_id.versions}
        subscription = self._subscriptions.get((group_id, client_id), "")
        for library in list(software):
            if sent := versions_of(library, subscription):
                own = software[library]
                limits = [ranges_of(sent), *([own] if own else [])]
                software = software | {library: _limits(limits)}
        return software

    @cached_property
    def _logged(self) -> dict[tuple[str | None, str], Software]:
        """The client's own lines by group and client id."""
        lines: dict[tuple[str | None, str], dict[str, list[Ranges]]] = defaultdict(dict)
        for row in self._rows("client_events", _CLIENT_LINES):
            key = row["group_id"], row["client_id"] or ""
            limits = lines[key].setdefault(row["library"], [])
            client = client_of_line(row["line"])
            if client is not None and client.versions is not None:
                limits.append(client.versions)
        for row in self._rows("client_events", _CLIENT_FILES):
            key = row["group_id"], row["client_id"] or ""
            lines[key][row["library"]] += self._named(row["file_id"], row["library"])
        return {
            key: {library: _limits(ranges) for library, ranges in each.items()}
            for key, each in lines.items()
        }

    @cached_property
    def _subscriptions(self) -> dict[tuple[str | None, str], str]:
        """The newest version of the subscriptions by group and client id, in hexadecimal."""
        return {
            (row["group_id"], row["client_id"] or ""): row["version"] or ""
            for row in self._rows("group_metadata", _SUBSCRIPTIONS)
        }


def _limits(of: list[Ranges]) -> Ranges | None:
    """Returns None if they do not limit the versions."""
    return consistent(of) if of else None
