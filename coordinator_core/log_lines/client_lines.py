"""Line of a consumer's log -> `ClientLine`: what the client says of its membership.

The message is found first, wherever it stands in the line; date, level and logger are read from
the text around it (module heads).  Java clients print client and group in brackets before each
message, and librdkafka prints its thread there.  Lines of other libraries are recognized by the
first words of a wording, or, if the library prints pairs of keys and values, by a whole message
(module pairs).  schemas/log_lines/clients has the wordings of each library, and the marks of its
lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import schemas.log_lines as data
from coordinator_core.log_lines.dates import Stamp
from coordinator_core.log_lines.endings import Ending, endings, opens_quote
from coordinator_core.log_lines.heads import Head, read_head
from coordinator_core.log_lines.literals import any_of
from coordinator_core.log_lines.pairs import (
    PairWording,
    PairWordings,
    json_pairs,
    shown,
    with_nested,
)
from coordinator_core.log_lines.partition_lists import partitions_in, topics_in
from coordinator_core.log_lines.templates import Template
from coordinator_core.log_lines.wordings import Wording, WordingIndex

JAVA, LIBRDKAFKA = "java", "librdkafka"
OTHER = "OTHER"
_CLIENT, _GROUP = "clientId=", ", groupId="
# Consumers and Connect's workers have members.
_CONTEXTS = ("[Consumer ", "[ShareConsumer ", "[Share Consumer ", "[Worker ")
_THREAD = "[thrd:"
_HANDLE = re.compile(r"([^\s|\[\]\"',]{1,255})#(consumer|producer)-\d{1,9}")
_FACILITY = re.compile(r"(?<![\w.])([A-Z][A-Z_]{2,30})(?=[|\s:]*$)")
_SYSLOG_LEVEL = re.compile(r"%([0-7])\|")
_UNIX_TIME = re.compile(r"\|(\d{1,11})\.(\d{3})\|")
_BROKER = re.compile(r"[^\s/]{1,300}/[\w-]{1,30}: ")
# A partition in a list, as librdkafka prints it.
_LISTED = re.compile(r" (?P<topic>.{1,300}) \[(?P<partition>\d+)\] offset .*")
_SYSLOG_LEVELS = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG")
_LEVEL_WORDS = ("DEBUG", "INFO", "NOTICE", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL")
# Facility of the lists of a client's own assignment; others list what changes.
_ASSIGNMENT = "ASSIGNMENT"
_NULLS = ("null", "<nil>")
_FIELDS = {
    "join_state": "state",
    "previous_join_state": "previous_state",
    "error": "reason",
    "stream_thread": "client_id",
}
_MOST_STARTS = 5
# Keys of a record's message.
_MESSAGES = ("msg", "message")
_NO_FIELDS: Mapping[str, Any] = {}


class ClientEvent(NamedTuple):
    """The event of one message; a field is None if the wording does not have it.

    ``event``: SUBSCRIBED, COORDINATOR_FOUND, COORDINATOR_LOST, REJOIN_REQUESTED, JOINING, JOINED,
    LEADER_ASSIGNED, SYNCED, JOIN_FAILED, SYNC_FAILED, HEARTBEAT_FAILED, ASSIGNED (all partitions),
    ASSIGNMENT_LIST (their number; each follows), ASSIGNED_PARTITION, PARTITIONS_ADDED,
    PARTITIONS_ASSIGNED, PARTITIONS_REVOKING, PARTITIONS_REVOKED, PARTITIONS_LOST, MEMBER_ID,
    MEMBER_RESET, LEAVING, POLL_TIMEOUT, POLL_RESUMED, SESSION_EXPIRED, RECONCILING, STATE, FENCED,
    STARTED, COMMIT_FAILED, HEARTBEAT (member epoch and partitions of a request), SESSION_ENDED (of
    a generation), SELF_ASSIGNED (by assign(): no membership), TASKS_ASSIGNED (of Connect),
    REBALANCE_SCHEDULED and RESTORED (of Streams), OTHER (a known message about anything else).
    ``generation``: of classic groups; ``epoch``: of a member of a modern group.
    """

    event: str
    group_id: str | None = None
    member_id: str | None = None
    generation: int | None = None
    epoch: int | None = None
    assignor: str | None = None
    state: str | None = None
    previous_state: str | None = None
    reason: str | None = None
    duration_ms: int | None = None
    partitions: tuple[str, ...] | None = None
    topics: tuple[str, ...] | None = None
    count: int | None = None  # type: ignore[assignment]  # hides tuple.count: of partitions or topics
    instance_id: str | None = None
    client_id: str | None = None


class ClientLine(NamedTuple):
    """A consumer's line.

    ``time_ms``: the time in UTC if the line has it; else ``local_ms``, ``utc_offset_minutes``,
    ``stamp`` and ``outer`` are as in `LogLine`.  ``event`` is None if no wording fits the message.
    ``client_id`` is None if the library does not log it.
    """

    library: str
    time_ms: int | None
    local_ms: int | None
    utc_offset_minutes: int | None
    level: str | None
    logger: str | None
    client_id: str | None
    group_id: str | None
    instance_id: str | None
    message: str
    event: ClientEvent | None
    stamp: Stamp | None = None
    outer: Stamp | None = None


def parse_client_line(line: str, fields: Mapping[str, Any] = _NO_FIELDS) -> ClientLine | None:
    """Parse a line; None if no consumer wrote it.

    ``fields``: if the line is the message of a JSON record, the fields of the record.
    """
    parsed = _of_java(line) if _GROUP in line else None
    if parsed is not None:
        return parsed
    if not fields and line.lstrip().startswith("{"):
        fields = json_pairs(line.lstrip())
    fields = with_nested(fields)
    if _THREAD in line:
        return _of_librdkafka(line, fields)
    for library in data.client_libraries():
        if library in (JAVA, LIBRDKAFKA) or not _has_mark(library, line, fields):
            continue
        own = _of_pairs(library, line, fields) or _of_wording(library, line)
        if own is not None and own.event is not None and own.event.event != OTHER:
            return own
        parsed = own if parsed is None or parsed.event is None else parsed
    return parsed


def _has_mark(library: str, line: str, fields: Mapping[str, Any]) -> bool:
    marks = data.client_library(library)["marks"]
    return any(mark in line for mark in marks) or any(
        mark.strip(' "=:') in fields for mark in marks
    )


def _of_java(line: str) -> ClientLine | None:
    """`[Consumer instanceId=i, clientId=c, groupId=g] message`; ids may be any text."""
    at = line.find(_CLIENT)
    start = line.rfind("[", 0, at)
    client_end = line.find(_GROUP, at)
    group_end = line.find("] ", client_end)
    if min(at, start, client_end, group_end) < 0 or not line.startswith(_CONTEXTS, start):
        return None
    before, instance = line[:start], line[start:at].partition("instanceId=")[2]
    ending, event = _read(JAVA, line[group_end + 2 :], is_quoted=opens_quote(before))
    head = read_head(before, ending.behind)
    group_id = line[client_end + len(_GROUP) : group_end]
    local_ms, utc_offset_minutes = _local(head)
    return ClientLine(
        library=JAVA,
        time_ms=None,
        local_ms=local_ms,
        utc_offset_minutes=utc_offset_minutes,
        level=head.level,
        logger=ending.logger or head.logger,
        client_id=line[at + len(_CLIENT) : client_end],
        group_id=None if group_id == "null" else group_id,
        instance_id=instance.removesuffix(", ") or None,
        message=ending.message,
        event=event,
        stamp=head.stamp,
        outer=head.outer,
    )


def _of_librdkafka(line: str, fields: Mapping[str, Any]) -> ClientLine | None:
    """`facility handle [thrd:name]: message`; the loggers of bindings print it differently."""
    at = line.find(_THREAD)
    start = line.find("]: ", at) + 3
    before = line[:at]
    handles = _HANDLE.findall(before) or _HANDLE.findall(shown(fields.get("name")))
    if start < 3 or (handles and handles[-1][1] == "producer"):
        return None
    client_id = handles[-1][0].rpartition("=")[2] if handles else None
    facility = _facility(before) or shown(fields.get("fac")) or None
    ending, event = _read(LIBRDKAFKA, line[start:], is_quoted=opens_quote(before))
    broker = _BROKER.match(ending.message)
    if event is None and broker is not None:
        behind = ending.message[broker.end() :]
        event = _event(LIBRDKAFKA, behind) or _other(LIBRDKAFKA, behind)
    event = _listed(facility, line[start:].rstrip()) or event
    if event is not None and event.event == "ASSIGNMENT_LIST" and facility != _ASSIGNMENT:
        event = ClientEvent(OTHER)
    head = read_head(before, ending.behind)
    time, level = _UNIX_TIME.search(before), _SYSLOG_LEVEL.search(before)
    local_ms, utc_offset_minutes = _local(head)
    return ClientLine(
        library=LIBRDKAFKA,
        time_ms=int(time[1]) * 1000 + int(time[2]) if time else None,
        local_ms=local_ms,
        utc_offset_minutes=utc_offset_minutes,
        level=_SYSLOG_LEVELS[int(level[1])] if level else head.level,
        logger=facility,
        client_id=client_id,
        group_id=event.group_id if event else None,
        instance_id=None,
        message=ending.message,
        event=event,
        stamp=head.stamp,
        outer=head.outer,
    )


def _facility(before: str) -> str | None:
    """The word in capitals before the handle."""
    words = _FACILITY.findall(
        _HANDLE.sub("", before).replace("[", "").replace("]", "").rstrip(" |:")
    )
    return words[-1] if words and words[-1] not in _LEVEL_WORDS else None


def _of_pairs(library: str, line: str, fields: Mapping[str, Any]) -> ClientLine | None:
    """Parse a line of a library that prints pairs, in a JSON record or in the line."""
    wordings = _pair_wordings(library)
    message = next((m for m in map(fields.get, _MESSAGES) if isinstance(m, str)), "")
    of_record = wordings.read(message, fields)
    if of_record is not None:
        event, values = of_record
        start = max(line.find(message), 0)
        end = start + len(message)
    else:
        in_line = wordings.find(line)
        if in_line is None:
            return None
        event, values, start, end = in_line
    ending = Ending(line[start:], None, line[end:])
    return _named_by_event(library, line, start, ending, _with_fields(event, values))


def _of_wording(library: str, line: str) -> ClientLine | None:
    """Parse a line of a library that prints neither client nor group before the message."""
    best: tuple[int, Ending] | None = None
    for start in _starts(library, line):
        ending, event = _read(library, line[start:], is_quoted=opens_quote(line[:start]))
        if event is not None:
            return _named_by_event(library, line, start, ending, event)
        best = best or (start, ending)
    return None if best is None else _named_by_event(library, line, *best, None)


def _named_by_event(
    library: str, line: str, start: int, ending: Ending, event: ClientEvent | None
) -> ClientLine:
    head = read_head(line[:start], ending.behind)
    local_ms, utc_offset_minutes = _local(head)
    return ClientLine(
        library=data.client_library(library).get("library", library),
        time_ms=None,
        local_ms=local_ms,
        utc_offset_minutes=utc_offset_minutes,
        level=head.level,
        logger=head.logger,
        client_id=event.client_id if event else None,
        group_id=event.group_id if event else None,
        instance_id=event.instance_id if event else None,
        message=ending.message.rstrip(),
        event=event,
        stamp=head.stamp,
        outer=head.outer,
    )


def _local(head: Head) -> tuple[int | None, int | None]:
    return (head.stamp.local_ms, head.stamp.utc_offset_minutes) if head.stamp else (None, None)


def _listed(facility: str | None, message: str) -> ClientEvent | None:
    """A partition of an assignment, whose list has a line of its own for each."""
    listed = _LISTED.fullmatch(message) if facility == _ASSIGNMENT else None
    if listed is None:
        return None
    return ClientEvent(
        event="ASSIGNED_PARTITION", partitions=(f"{listed['topic']}-{listed['partition']}",)
    )


def _read(library: str, rest: str, *, is_quoted: bool) -> tuple[Ending, ClientEvent | None]:
    """The message at the beginning of a text, cut at the first ending that fits a wording."""
    all_endings = list(endings(rest, is_quoted=is_quoted))  # the whole text is one
    for ending in all_endings:
        event = _event(library, ending.message)
        if event is not None:
            return ending, event
    for ending in all_endings:
        other = _other(library, ending.message)
        if other is not None:
            return ending, other
    return all_endings[0], None


def _other(library: str, message: str) -> ClientEvent | None:
    is_known = not message or _other_index(library).find(message) is not None
    return ClientEvent(OTHER) if is_known else None


def _event(library: str, message: str) -> ClientEvent | None:
    match = _index(library).find(message)
    if match is None:
        return None
    wording, values = match
    return _with_fields(
        wording.event, dict(zip(wording.template.group_fields, values, strict=True))
    )


def _with_fields(event: str, values: Mapping[str, Any]) -> ClientEvent:
    return ClientEvent(
        event=event,
        **{_FIELDS.get(name, name): _value(name, value) for name, value in values.items()},
    )


def _value(name: str, value: Any) -> Any:
    if name == "partitions":
        return partitions_in(value)
    if name == "topics":
        return topics_in(value)
    if name == "stream_thread":  # whose consumer has this name
        return f"{value}-consumer"
    return None if value in _NULLS or (name == "member_id" and not value) else value


def _starts(library: str, line: str) -> Iterator[int]:
    """Where a wording may begin in a line: at its first words, or at the word before them."""
    starts = 0
    if not _texts(library, with_pairs=False):
        return
    for match in _beginnings(library).finditer(line):
        start = match.start()
        if match[0] in _words_behind_a_field(library):
            start = line.rfind(" ", 0, start) + 1
        if not line[max(0, start - 1) : start].isalnum():
            yield start
            starts += 1
            if starts == _MOST_STARTS:
                return


@cache
def _words_behind_a_field(library: str) -> frozenset[str]:
    """The first fixed words of wordings that begin with a group or a member."""
    pieces = (Template(text).pieces for _, text in _all_texts(library, with_pairs=False))
    return frozenset(each[2] for each in pieces if not each[0])


@cache
def _beginnings(library: str) -> Any:
    """Finds the first words of a library's wordings."""
    pieces = (Template(text).pieces for _, text in _all_texts(library, with_pairs=False))
    return any_of({each[0] for each in pieces if each[0]} | _words_behind_a_field(library))


@cache
def _texts(library: str, *, with_pairs: bool, is_other: bool = False) -> list[tuple[str, str]]:
    """Event and text of each wording, or of each message about anything else."""
    entries = data.client_library(library)
    if is_other:
        wordings = [(OTHER, text) for text in entries.get("others", [])]
    else:
        wordings = [(each["event"], each["text"]) for each in entries["wordings"]]
    return [each for each in wordings if PairWording.has_pairs(each[1]) is with_pairs]


def _all_texts(library: str, *, with_pairs: bool) -> list[tuple[str, str]]:
    others = _texts(library, with_pairs=with_pairs, is_other=True)
    return [*_texts(library, with_pairs=with_pairs), *others]


def _index_of(library: str, texts: list[tuple[str, str]]) -> WordingIndex:
    return WordingIndex(
        Wording(
            template=Template(text.replace("{group_id}", "{group_id_first}")),
            coordinator=library,
            versions="",
            event=event,
        )
        for event, text in texts
    )


@cache
def _index(library: str) -> WordingIndex:
    return _index_of(library, _texts(library, with_pairs=False))


@cache
def _other_index(library: str) -> WordingIndex:
    return _index_of(library, _texts(library, with_pairs=False, is_other=True))


@cache
def _pair_wordings(library: str) -> PairWordings:
    texts = _all_texts(library, with_pairs=True)
    return PairWordings(PairWording.of(event, text) for event, text in texts)
