"""Line of a consumer's log -> `ClientLine`: what the client says of its membership.

Java clients name client and group before each message; librdkafka prints level, time in UTC,
facility and the handle's name before it; kafka-python's logger is before it; franz-go prints pairs
of keys and values after it, in the layout of its logger.  Their wordings are in
schemas/log_lines/clients.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import schemas.log_lines as data
from coordinator_core.log_lines.lines import parse_head, split_logger
from coordinator_core.log_lines.templates import Template
from coordinator_core.log_lines.wordings import Wording, WordingIndex

JAVA, LIBRDKAFKA = "java", "librdkafka"
KAFKA_PYTHON, FRANZ_GO = "kafka-python", "franz-go"
_CONTEXT = re.compile(
    r"\[(?:Share)?Consumer (?:instanceId=(?P<instance_id>.*?), )?clientId=(?P<client_id>.*?), "
    r"groupId=(?P<group_id>.*?)\] "
)
_HANDLE = re.compile(
    r"%(?P<level>\d)\|(?P<seconds>\d{1,11})\.(?P<ms>\d{3})\|(?P<facility>\w+)\|"
    r"(?P<client_id>.*?)#consumer-\d+\| \[thrd:[^\]]*\]: "
)
# Python's formats put the level before or after the logger.
_PYTHON = re.compile(
    r"(?P<logger>kafka\.(?:coordinator|consumer)[\w.]*)[\]\s:|-]+"
    r"(?:(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)[\]\s:|-]+)?(?P<message>.*)"
)
_FRANZ = re.compile(r"\[(?P<level>DEBUG|INFO|WARN|ERROR)\] (?P<message>[^;]+; (?:group|plan): .*)")
_PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S*)')
_DATE = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?")
_TIMES = ("time", "ts", "timestamp")
# As librdkafka, kafka-python and franz-go print partitions.
_LISTED = re.compile(r" (?P<topic>.+) \[(?P<partition>\d+)\] offset .*")
_TOPIC_PARTITION = re.compile(r"TopicPartition\(topic='([^']*)', partition=(\d+)\)")
_TOPIC_PARTITIONS = re.compile(r"([\w.-]+)\[([\d ]*)\]")
_SYSLOG_LEVELS = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG")
_PYTHON_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
# Facility of the lists of a client's own assignment; others list what changes.
_ASSIGNMENT = "ASSIGNMENT"
_LISTS = ("partitions", "topics")
_NULLS = ("null", "<nil>")
_FIELDS = {"join_state": "state", "previous_join_state": "previous_state", "error": "reason"}


class ClientEvent(NamedTuple):
    """The event of one message; a field is None if the wording does not have it.

    ``event``: SUBSCRIBED, COORDINATOR_FOUND, COORDINATOR_LOST, REJOIN_REQUESTED, JOINING, JOINED,
    LEADER_ASSIGNED, SYNCED, JOIN_FAILED, SYNC_FAILED, HEARTBEAT_FAILED, ASSIGNED (all partitions),
    ASSIGNMENT_LIST (their number; each follows), ASSIGNED_PARTITION, PARTITIONS_ADDED,
    PARTITIONS_ASSIGNED, PARTITIONS_REVOKING, PARTITIONS_REVOKED, PARTITIONS_LOST, MEMBER_ID,
    MEMBER_RESET, LEAVING, POLL_TIMEOUT, POLL_RESUMED, SESSION_EXPIRED, RECONCILING, STATE, FENCED.
    ``generation``: of classic groups; ``epoch``: of a member of the new protocols.
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


class ClientLine(NamedTuple):
    """A consumer's line.  ``time_ms`` is UTC and set if the line has it; else ``local_ms`` and
    ``utc_offset_minutes`` are as in `LogLine`.  ``event`` is None for any other message;
    ``client_id`` is None in lines of kafka-python and franz-go.
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


def parse_client_line(line: str) -> ClientLine | None:
    """None if no consumer wrote the line."""
    handle = _HANDLE.search(line)
    if handle is not None:
        return _of_librdkafka(handle, line[handle.end() :].rstrip())
    head = parse_head(line)
    context = _CONTEXT.search(line, head.end if head else 0)
    if context is None:
        return _of_kafka_python(line) or _of_franz_go(line)
    logger, message = split_logger(line[context.end() :])
    event = _event(JAVA, message)
    return ClientLine(
        JAVA,
        None,
        head.local_ms if head else None,
        head.utc_offset_minutes if head else None,
        head.level if head else None,
        logger,
        context["client_id"],
        None if context["group_id"] == "null" else context["group_id"],
        context["instance_id"],
        message,
        event,
    )


def _of_kafka_python(line: str) -> ClientLine | None:
    match = _PYTHON.search(line)
    if match is None:
        return None
    level = match["level"] or next((w for w in _PYTHON_LEVELS if w in line[: match.start()]), None)
    event = _event(KAFKA_PYTHON, match["message"].rstrip())
    before = line[: match.start()]
    return _without_context(KAFKA_PYTHON, before, level, match["logger"], match["message"], event)


def _of_franz_go(line: str) -> ClientLine | None:
    """``line``: of its BasicLogger; other layouts are brought into this one."""
    match = _FRANZ.search(as_basic_line(line))
    if match is None:
        return None
    before, message = match.string[: match.start()], match["message"].rstrip()
    event = _event(FRANZ_GO, message)
    return _without_context(FRANZ_GO, before, match["level"], None, message, event)


def as_basic_line(line: str) -> str:
    """A line of franz-go's loggers with slog or zap, as text or JSON, in the layout of its
    BasicLogger: `time [LEVEL] message; key: value, key: value`.  Any other line as it is.
    """
    start = line.find("{") if line.lstrip().startswith("{") else line.find("time=")
    if start < 0 or "msg" not in line:
        return line
    pairs = _json_pairs(line) if line[start] == "{" else _text_pairs(line[start:])
    message, level = pairs.pop("msg", None), pairs.pop("level", None)
    time = next((pairs.pop(name) for name in _TIMES if name in pairs), "")
    if not (isinstance(message, str) and isinstance(level, str)):
        return line
    shown = ", ".join(f"{name}: {_basic(value)}" for name, value in pairs.items())
    return f"{time} [{level.upper()}] {message}; {shown}"


def _json_pairs(line: str) -> dict[str, Any]:
    try:
        pairs = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return pairs if isinstance(pairs, dict) else {}


def _text_pairs(text: str) -> dict[str, Any]:
    return {name: _unquoted(value) for name, value in _PAIR.findall(text)}


def _unquoted(value: str) -> str:
    """Go escapes some characters as JSON does not; such a text stays as it is."""
    if not value.startswith('"'):
        return value
    try:
        return str(json.loads(value))
    except ValueError:
        return value[1:-1]


def _basic(value: Any) -> str:
    """Partitions are an object of topics in JSON, and `topic[0 1]` in text."""
    if isinstance(value, Mapping):
        return ", ".join(
            f"{topic}[{' '.join(map(str, numbers))}]"
            for topic, numbers in value.items()
            if isinstance(numbers, list)
        )
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _without_context(
    library: str,
    before: str,
    level: str | None,
    logger: str | None,
    message: str,
    event: ClientEvent | None,
) -> ClientLine:
    """A line that names no client; its date is in ``before``."""
    date = _DATE.search(before)
    head = parse_head(f"{date[0]} INFO ") if date else None
    return ClientLine(
        library,
        None,
        head.local_ms if head else None,
        head.utc_offset_minutes if head else None,
        level,
        logger,
        None,
        event.group_id if event else None,
        event.instance_id if event else None,
        message,
        event,
    )


def _of_librdkafka(handle: re.Match[str], message: str) -> ClientLine:
    event = _event(LIBRDKAFKA, message) or _listed(handle["facility"], message)
    if event is not None and event.event == "ASSIGNMENT_LIST" and handle["facility"] != _ASSIGNMENT:
        event = None
    return ClientLine(
        LIBRDKAFKA,
        int(handle["seconds"]) * 1000 + int(handle["ms"]),
        None,
        None,
        _SYSLOG_LEVELS[int(handle["level"])] if handle["level"] < "8" else None,
        handle["facility"],
        handle["client_id"],
        event.group_id if event else None,
        None,
        message,
        event,
    )


def _listed(facility: str, message: str) -> ClientEvent | None:
    """A partition of an assignment, whose list has a line of its own for each."""
    listed = _LISTED.fullmatch(message) if facility == _ASSIGNMENT else None
    if listed is None:
        return None
    return ClientEvent(
        "ASSIGNED_PARTITION", partitions=(f"{listed['topic']}-{listed['partition']}",)
    )


def _event(library: str, message: str) -> ClientEvent | None:
    match = _index(library).find(message)
    if match is None:
        return None
    wording, values = match
    fields = dict(zip(wording.template.group_fields, values, strict=True))
    return ClientEvent(
        wording.event, **{_FIELDS.get(n, n): _value(n, v) for n, v in fields.items()}
    )


def _value(name: str, value: Any) -> Any:
    """Lists are printed with brackets from Kafka 2.4 on where a collection is printed as such."""
    if name in _LISTS and "TopicPartition(" in value:
        return tuple(sorted(f"{topic}-{n}" for topic, n in _TOPIC_PARTITION.findall(value)))
    if name in _LISTS and (value == "set()" or _TOPIC_PARTITIONS.match(value)):
        each = _TOPIC_PARTITIONS.findall(value)
        return tuple(f"{topic}-{n}" for topic, numbers in each for n in numbers.split())
    if name in _LISTS:
        inner = value.removeprefix("[").removesuffix("]")
        return tuple(inner.split(", ")) if inner else ()
    return None if value in _NULLS else value


@cache
def _index(library: str) -> WordingIndex:
    return WordingIndex(
        Wording(Template(entry["text"]), library, "", entry["event"])
        for entry in data.client_wordings(library)
    )
