"""The settings that a change sets or removes in the configurations of a group's consumers.

`coordinator_core.whatif.deployment_forms` writes these lines for each kind of deployment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from coordinator_core.client import LIBRARIES
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.client_libraries import library_under
from coordinator_core.whatif.kafka_names import (
    COMMIT_INTERVAL,
    GROUP_PROTOCOL,
    HEARTBEAT,
    INSTANCE_ID,
    POLL,
    REMOTE_ASSIGNOR,
    SESSION,
    STRATEGY,
    kind_of,
    strategy,
)
from coordinator_core.whatif.settings import (
    CONSUMER_PROTOCOL,
    COOPERATIVE,
    ORDINAL,
    SettingsChange,
)

# Java clients refuse instance ids with these characters (JoinGroupRequest.validateGroupInstanceId).
_INVALID_IN_ID = re.compile(r"[^A-Za-z0-9._-]")
_MAX_ID_LENGTH = 249


class ClientSetting(NamedTuple):
    """``is_later`` means that a second deployment sets it; the lines show it as a comment."""

    name: str
    value: str
    is_later: bool = False


class RemovedSettings(NamedTuple):
    """Settings that the clients must not have after the change."""

    names: tuple[str, ...]
    reason: str | None = None


# A text is a comment.
ClientLine = ClientSetting | RemovedSettings | str


@dataclass(frozen=True, kw_only=True)
class ClientPart:
    """The lines for all consumers of one library (``kind``).  ``instance_ids`` are by process
    name; empty if no process gets an id.  ``title`` is a comment that names the consumers;
    ``source`` is a comment that says where the ids come from.  ``name`` is unique among the
    libraries of the group.
    """

    group_id: str
    name: str
    kind: str
    client_ids: Sequence[str]
    title: str
    lines: Sequence[ClientLine]
    instance_ids: Mapping[str, str]
    source: str


def client_parts(baseline: Baseline, change: SettingsChange) -> list[ClientPart]:
    """One part per library of the group (`kind_of`), sorted by library."""
    kinds = {name: kind_of(library_under(baseline, name, change)) for name in baseline.libraries}
    ids = _instance_ids(baseline, change)
    is_mixed = len(set(kinds.values())) > 1
    lasting = (
        "which its replacement takes over, as a StatefulSet's pod name"
        if change.instance_ids == ORDINAL
        else "which it keeps after a restart"
    )
    return [
        ClientPart(
            group_id=baseline.group_id,
            name=f"{baseline.group_id}-{kind}" if is_mixed else baseline.group_id,
            kind=kind,
            client_ids=[p.lives[-1].client_id for p in baseline.processes if kinds[p.name] == kind],
            title=f"every {kind + ' ' if is_mixed else ''}consumer of group "
            f"{one_line(baseline.group_id)}",
            lines=list(_lines(baseline, change, kind)),
            instance_ids={name: text for name, text in ids.items() if kinds[name] == kind},
            source=f"each process has its own {INSTANCE_ID}, {lasting}",
        )
        for kind in sorted(set(kinds.values()))
    ]


def one_line(name: str) -> str:
    """A name for a comment: line ends would end the comment."""
    return json.dumps(name, ensure_ascii=False)[1:-1]


def _lines(baseline: Baseline, change: SettingsChange, kind: str) -> Iterator[ClientLine]:
    if change.client_library is not None:
        yield f"with the client {change.client_library}"
    if change.session_timeout_ms is not None:
        yield ClientSetting(SESSION, str(change.session_timeout_ms))
    if change.rebalance_timeout_ms is not None:
        yield ClientSetting(POLL, str(change.rebalance_timeout_ms))
    if change.commit_interval_ms is not None:
        yield ClientSetting(COMMIT_INTERVAL, str(change.commit_interval_ms))
    yield from _strategy(baseline, change, kind)
    yield from _protocol(baseline, change)
    if change.membership == "dynamic":
        yield RemovedSettings((INSTANCE_ID,))


def _protocol(baseline: Baseline, change: SettingsChange) -> Iterator[ClientLine]:
    protocol = change.protocol_of(baseline.group_protocol)
    changes = protocol != baseline.group_protocol
    if changes and protocol == CONSUMER_PROTOCOL:
        yield "one rolling deployment; the broker converts the group when the first process joins"
        yield ClientSetting(GROUP_PROTOCOL, protocol)
    elif changes:
        yield "one rolling deployment; the broker converts the group when the last process of the"
        yield "consumer protocol has left"
        yield ClientSetting(GROUP_PROTOCOL, protocol)
        yield RemovedSettings((REMOTE_ASSIGNOR,))
        return
    if change.remote_assignor is not None:
        yield ClientSetting(REMOTE_ASSIGNOR, change.remote_assignor)
    if changes:
        yield RemovedSettings((SESSION, HEARTBEAT, STRATEGY), "clients refuse them")


def _strategy(baseline: Baseline, change: SettingsChange, kind: str) -> Iterator[ClientLine]:
    after, before = change.assignors, baseline.assignors
    if after is None or after == before:
        return
    if not before:
        # The group was not classic, so no member has an assignor of its own.
        yield ClientSetting(STRATEGY, strategy(after, kind))
    elif not is_online(kind, after, before):
        yield f"{kind} cannot change the rebalance protocol online: stop all processes first"
        yield ClientSetting(STRATEGY, strategy(after, kind))
    else:
        yield "first rolling deployment: old and new processes share an assignor"
        yield ClientSetting(STRATEGY, strategy((*after, *before), kind))
        yield "second rolling deployment, after the first has ended:"
        yield ClientSetting(STRATEGY, strategy(after, kind), is_later=True)


def is_online(kind: str, after: Iterable[str], before: Iterable[str]) -> bool:
    """Returns whether processes with the old and the new assignors can be members at the same
    time.
    """
    changes_protocol = (COOPERATIVE in after) != (COOPERATIVE in before)
    is_librdkafka = any(
        library.is_librdkafka for library in LIBRARIES.values() if kind_of(library.name) == kind
    )
    return not (changes_protocol and is_librdkafka)


# -- instance ids ----------------------------------------------------------------------------------


def _instance_ids(baseline: Baseline, change: SettingsChange) -> dict[str, str]:
    """Ids by process; empty unless members become static.  Processes that ended need no id, and
    static members keep their ids.
    """
    if change.membership != "static" or all(p.instance_id for p in baseline.processes):
        return {}
    running = [p for p in baseline.processes if p.lives[-1].ended is None] or baseline.processes
    clients = baseline.clients()
    own = {p.name: clients.get(p.lives[-1].member_ids[-1], p.name) for p in running}
    names: dict[str, str] = {}
    for number, process in enumerate(sorted(running, key=lambda process: own[process.name])):
        source = f"{baseline.group_id}-{number}" if change.instance_ids == ORDINAL else None
        names[process.name] = process.instance_id or source or own[process.name]
    return dict(zip(names, unique_ids(names.values()), strict=True))


def unique_ids(names: Iterable[str]) -> Iterator[str]:
    """The names as instance ids that Java clients accept, each once."""
    taken: set[str] = set()
    for name in names:
        text = _INVALID_IN_ID.sub("-", name)
        # Keep the end of a long name, which has the ordinal or another distinguishing part.
        text = text[-_MAX_ID_LENGTH:] if text.strip(".") else f"process{text}"
        unique, number = text, 2
        while unique in taken:
            suffix = f"-{number}"
            unique, number = text[-(_MAX_ID_LENGTH - len(suffix)) :] + suffix, number + 1
        taken.add(unique)
        yield unique
