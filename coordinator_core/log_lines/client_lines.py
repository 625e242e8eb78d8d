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
from functools import cache, lru_cache
from typing import Any, NamedTuple

import schemas.log_lines as data
from coordinator_core.log_lines.dates import Stamp
from coordinator_core.log_lines.endings import Ending, endings, opens_quote
from coordinator_core.log_lines.heads import Head, read_head
from coordinator_core.log_lines.literals import any_of, spans_in
from coordinator_core.log_lines.pairs import (
    PairWording,
    PairWordings,
    json_pairs,
    shown,
    with_nested,
)
from coordinator_core.log_lines.partition_lists import partitions_in, positions_in, topics_in
from coordinator_core.log_lines.templates import Template
from coordinator_core.log_lines.wordings import Wording, WordingIndex

JAVA, LIBRDKAFKA = "java", "librdkafka"
OTHER = "OTHER"
_CLIENT, _GROUP = "clientId=", ", groupId="
# Prefixes of loggers with members: consumers and Connect workers.
_CONTEXTS = ("[Consumer ", "[ShareConsumer ", "[Share Consumer ", "[Worker ")
_THREAD = "[thrd:"
_HANDLE = re.compile(r"([^\s|\[\]\"',]{1,255})#(consumer|producer)-\d{1,9}")
_FACILITY = re.compile(r"(?<![\w.])([A-Z][A-Z_]{2,30})(?=[|\s:]*$)")
_SYSLOG_LEVEL = re.compile(r"%([0-7])\|")
_UNIX_TIME = re.compile(r"\|(\d{1,11})\.(\d{3})\|")
_BROKER = re.compile(r"[^\s/]{1,300}/[\w-]{1,30}: ")
_SYSLOG_LEVELS = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG")
_LEVEL_WORDS = ("DEBUG", "INFO", "NOTICE", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL")
# Facility of lists of a client's own assignment; other lists show changes.
_ASSIGNMENT = "ASSIGNMENT"
# Partitions in librdkafka's lists, by facility: the client's own assignment, and a leader's
# assignment.
_LISTED = {
    _ASSIGNMENT: ("ASSIGNED_PARTITION", re.compile(r" (.{1,300}) \[(\d+)\] offset .*")),
    "ASSIGN": ("LEADER_PARTITION", re.compile(r"  (.{1,300}) \[(\d+)\]")),
}
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
    LEADER_ASSIGNED, LEADER_LIST (of one member; each partition follows), LEADER_PARTITION,
    ASSIGNMENT_FAILED (of the leader), SYNCED, JOIN_FAILED, SYNC_FAILED, HEARTBEAT_FAILED, ASSIGNED
    (all partitions), ASSIGNMENT_LIST (their number; each follows), ASSIGNED_PARTITION,
    PARTITIONS_ADDED, PARTITIONS_ASSIGNED, PARTITIONS_REVOKING, PARTITIONS_REVOKED, PARTITIONS_LOST,
    MEMBER_ID, MEMBER_RESET, LEAVING, POLL_TIMEOUT, POLL_RESUMED, SESSION_EXPIRED, RECONCILING,
    STATE, FENCED, STARTED, COMMIT_FAILED, HEARTBEAT (member epoch and partitions of a request),
    SESSION_ENDED (of a generation), SELF_ASSIGNED (by assign(): no membership), TASKS_ASSIGNED (of
    Connect), REBALANCE_SCHEDULED and RESTORED (of Streams), OTHER (a known message about anything
    else). ``generation`` is the generation of classic groups; ``epoch`` is the epoch of a member of
    a modern group. ``offsets`` are the client's positions in a failed commit, one per element of
    ``partitions``.
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
    # Number of partitions or topics; the name hides tuple.count.
    count: int | None = None  # type: ignore[assignment]
    instance_id: str | None = None
    client_id: str | None = None
    offsets: tuple[int, ...] | None = None


class ClientLine(NamedTuple):
    """A consumer's line.

    ``time_ms`` is the time in UTC if the line has it; else ``local_ms``, ``utc_offset_minutes``,
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


class ClientMessage(NamedTuple):
    """A consumer's message in a line, whose date and level are not read yet.

    ``before`` is the text to the left of the message and of the names of client and group.
    """

    library: str
    event: ClientEvent | None
    before: str
    ending: Ending
    client_id: str | None
    group_id: str | None
    instance_id: str | None = None
    logger: str | None = None

    def line(self) -> ClientLine:
        """Read date, level and logger from the text around the message."""
        time = level = None
        if self.library == LIBRDKAFKA:
            time, level = _UNIX_TIME.search(self.before), _SYSLOG_LEVEL.search(self.before)
        is_complete = time is not None and level is not None
        head = Head() if is_complete else read_head(self.before, self.ending.behind)
        stamp = head.stamp
        return ClientLine(
            library=self.library,
            time_ms=int(time[1]) * 1000 + int(time[2]) if time else None,
            local_ms=stamp.local_ms if stamp else None,
            utc_offset_minutes=stamp.utc_offset_minutes if stamp else None,
            level=_SYSLOG_LEVELS[int(level[1])] if level else head.level,
            logger=self.logger if self.library == LIBRDKAFKA else self.logger or head.logger,
            client_id=self.client_id,
            group_id=self.group_id,
            instance_id=self.instance_id,
            message=self.ending.message,
            event=self.event,
            stamp=stamp,
            outer=head.outer,
        )


def parse_client_line(line: str, fields: Mapping[str, Any] = _NO_FIELDS) -> ClientLine | None:
    """Parse a line; returns None if no consumer wrote it.

    ``fields``: see `find_client_message`.
    """
    message = find_client_message(line, fields)
    return None if message is None else message.line()


def find_client_message(line: str, fields: Mapping[str, Any] = _NO_FIELDS) -> ClientMessage | None:
    """The message in a line, or None if no consumer wrote the line.

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
    for library in _libraries_of(line, fields):
        own = _of_pairs(library, line, fields) or _of_wording(library, line)
        if own is not None and own.event is not None and own.event.event != OTHER:
            return own
        parsed = own if parsed is None or parsed.event is None else parsed
    return parsed


def _libraries_of(line: str, fields: Mapping[str, Any]) -> Iterator[str]:
    """Libraries except Java and librdkafka that have a mark in the line or in the record."""
    for library, marks, keys in _marks():
        for mark in marks:
            if mark in line:
                yield library
                break
        else:
            if fields and not keys.isdisjoint(fields):
                yield library


@cache
def _marks() -> tuple[tuple[str, tuple[str, ...], frozenset[str]], ...]:
    """The marks of each library, and the same marks as keys of records."""
    others = (name for name in data.client_libraries() if name not in (JAVA, LIBRDKAFKA))
    marks = ((name, data.client_library(name)["marks"]) for name in others)
    return tuple(
        (name, tuple(each), frozenset(mark.strip(' "=:') for mark in each)) for name, each in marks
    )


def _of_java(line: str) -> ClientMessage | None:
    """`[Consumer instanceId=i, clientId=c, groupId=g] message`; ids may be any text."""
    at = line.find(_CLIENT)
    start = line.rfind("[", 0, at)
    client_end = line.find(_GROUP, at)
    group_end = line.find("] ", client_end)
    if min(at, start, client_end, group_end) < 0 or not line.startswith(_CONTEXTS, start):
        return None
    before, instance = line[:start], line[start:at].partition("instanceId=")[2]
    ending, event = _read(JAVA, line[group_end + 2 :], is_quoted=opens_quote(before))
    group_id = line[client_end + len(_GROUP) : group_end]
    return ClientMessage(
        library=JAVA,
        event=event,
        before=before,
        ending=ending,
        client_id=line[at + len(_CLIENT) : client_end],
        group_id=None if group_id == "null" else group_id,
        instance_id=instance.removesuffix(", ") or None,
        logger=ending.logger,
    )


def _of_librdkafka(line: str, fields: Mapping[str, Any]) -> ClientMessage | None:
    """`facility handle [thrd:name]: message`; the loggers of bindings print it differently."""
    at = line.find(_THREAD)
    start = line.find("]: ", at) + 3
    before = line[:at]
    handle, facility = _before_thread(_UNIX_TIME.sub("|", before, count=1))
    if handle is None:
        handle = _last_handle(shown(fields.get("name")))
    if start < 3 or (handle is not None and handle.is_producer):
        return None
    facility = facility or shown(fields.get("fac")) or None
    ending, event = _read(LIBRDKAFKA, line[start:], is_quoted=opens_quote(before))
    broker = _BROKER.match(ending.message) if event is None else None
    if broker is not None:
        behind = ending.message[broker.end() :]
        event = _event(LIBRDKAFKA, behind)
        if event is None and _is_other(LIBRDKAFKA, behind):
            event = ClientEvent(OTHER)
    event = _listed(facility, line[start:].rstrip()) or event
    if event is not None and event.event == "ASSIGNMENT_LIST" and facility != _ASSIGNMENT:
        event = ClientEvent(OTHER)
    return ClientMessage(
        library=LIBRDKAFKA,
        event=event,
        before=before,
        ending=ending,
        client_id=handle.client_id if handle else None,
        group_id=event.group_id if event else None,
        logger=facility,
    )


class _Handle(NamedTuple):
    client_id: str
    is_producer: bool


def _last_handle(text: str) -> _Handle | None:
    handles = _HANDLE.findall(text)
    if not handles:
        return None
    name, kind = handles[-1]
    return _Handle(name.rpartition("=")[2], kind == "producer")


@lru_cache(maxsize=4096)
def _before_thread(before: str) -> tuple[_Handle | None, str | None]:
    """The last handle of a text, and the facility: the word in capitals before the handle.

    Cached: without their times, many lines have the same text before their message.
    """
    words = _FACILITY.findall(
        _HANDLE.sub("", before).replace("[", "").replace("]", "").rstrip(" |:")
    )
    facility = words[-1] if words and words[-1] not in _LEVEL_WORDS else None
    return _last_handle(before), facility


def _of_pairs(library: str, line: str, fields: Mapping[str, Any]) -> ClientMessage | None:
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
    ending = Ending(line[start:].rstrip(), None, line[end:])
    return _named_by_event(library, line, start, ending, _with_fields(event, values))


def _of_wording(library: str, line: str) -> ClientMessage | None:
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
) -> ClientMessage:
    return ClientMessage(
        library=data.client_library(library).get("library", library),
        event=event,
        before=line[:start],
        ending=ending,
        client_id=event.client_id if event else None,
        group_id=event.group_id if event else None,
        instance_id=event.instance_id if event else None,
    )


def _listed(facility: str | None, message: str) -> ClientEvent | None:
    """A partition of an assignment, whose list has a line of its own for each."""
    if facility not in _LISTED:
        return None
    event, pattern = _LISTED[facility]
    listed = pattern.fullmatch(message)
    return ClientEvent(event, partitions=(f"{listed[1]}-{listed[2]}",)) if listed else None


def _read(library: str, rest: str, *, is_quoted: bool) -> tuple[Ending, ClientEvent | None]:
    """The message at the beginning of a text, cut at the first ending that fits a wording."""
    if is_quoted or _index(library).may_fit(rest):
        for ending in endings(rest, is_quoted=is_quoted):
            event = _event(library, ending.message)
            if event is not None:
                return ending, event
    first: Ending | None = None
    may_be_other = True
    for ending in endings(rest, is_quoted=is_quoted):
        if (may_be_other or not ending.message) and _is_other(library, ending.message):
            return ending, ClientEvent(OTHER)
        if first is None:
            first = ending
            may_be_other = is_quoted or _other_index(library).may_fit(rest)
    assert first is not None  # The whole text is an ending.
    return first, None


def _is_other(library: str, message: str) -> bool:
    """Returns whether a message is known and is not about membership."""
    return not message or _other_index(library).find(message) is not None


def _event(library: str, message: str) -> ClientEvent | None:
    match = _index(library).find(message)
    if match is None:
        return None
    wording, values = match
    return _with_fields(
        wording.event, dict(zip(wording.template.group_fields, values, strict=True))
    )


def _with_fields(event: str, values: Mapping[str, Any]) -> ClientEvent:
    fields = {_FIELDS.get(name, name): _value(name, value) for name, value in values.items()}
    positions = fields.pop("positions", None)
    if positions:
        fields |= {"partitions": tuple(positions), "offsets": tuple(positions.values())}
    if "partition" in fields:
        fields["partitions"] = (f"{fields.pop('topic')}-{fields.pop('partition')}",)
    if "offset" in fields:
        fields["offsets"] = (fields.pop("offset"),)
    return ClientEvent(event=event, **fields)


def _value(name: str, value: Any) -> Any:
    if name == "partitions":
        return partitions_in(value)
    if name == "positions":
        return positions_in(value)
    if name == "topics":
        return topics_in(value)
    if name == "stream_thread":  # name of the consumer of the stream thread
        return f"{value}-consumer"
    return None if value in _NULLS or (name == "member_id" and not value) else value


def _starts(library: str, line: str) -> Iterator[int]:
    """The positions at which a wording may begin in a line: its first words, or the word before
    them.
    """
    starts = 0
    if not _texts(library, with_pairs=False):
        return
    for start, end in spans_in(_beginnings(library), line):
        if line[start:end] in _words_behind_a_field(library):
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
