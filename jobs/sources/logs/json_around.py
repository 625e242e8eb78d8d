"""JSON around log lines: one object per line, or documents with many (arrays, API responses).

A record is an object with a message.  Log stores and agents put it, its date and what names the
broker under names and into objects of their own; `flat_record` finds them.  A document's records
take the name of the broker from the objects around them (the stream of Loki or CloudWatch).
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from coordinator_core.log_lines.messages import PREFIX
from jobs.sources.logs.csv_around import insights_lines, is_insights, with_zone

DOCUMENT_BYTES = 64 << 20  # maximum bytes that are read at once
_MARK = codecs.BOM_UTF8
_SNIFFED_BYTES = 1 << 20
_ARRAY = re.compile(rb"\s*\[\s*\{")
_OBJECT = re.compile(rb'\s*\{\s*(?:"[^"\n]*"\s*:|\n)')
_SPACE = re.compile(r"[\s,]*")
_LOKI_TIME = re.compile(r"[0-9]{1,19}")  # ns
_NUMBER = re.compile(r"[0-9]{9,19}(?:\.[0-9]{1,9})?")

# The objects in which stores and agents keep the record: Elasticsearch and its `fields`, Splunk's
# search results and events, Google Cloud, Datadog.
_INNER = ("_source", "result", "jsonPayload", "event", "attributes", "fields")
_LABELS = ("stream", "labels", "resource")  # fields with labels in Loki, logcli and Google Cloud
_MESSAGES = (
    *("message", "log", "line", "msg", "MESSAGE", "_raw", "@message", "textPayload"),
    *("short_message", "event.original", "event", "body"),
    *("RenderedMessage", "@m", "Message"),  # Serilog
)
_LEVELS = ("level", "severity", "log.level", "levelname", "status", "@l")
_LOGGERS = (
    *("logger", "loggerName", "logger_name", "log.logger", "_logger", "class", "category"),
    *("logger.name", "SourceContext"),
)
_DATES = (
    *("timestamp", "@timestamp", "time", "ts", "date", "timeMillis", "instant", "_time", "@t"),
    *("_SOURCE_REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP"),
)
# Parts of a date that is an object: log4j 2's instant, Google Cloud's timestamp.
_SECOND_PARTS, _NANO_PARTS = ("epochSecond", "seconds"), ("nanoOfSecond", "nanos")
_TRACES = (
    *("stack_trace", "stackTrace", "error.stack_trace", "exception.stacktrace"),
    *("exception.stackTrace", "_exception.stackTrace", "thrown.extendedStackTrace", "full_message"),
)
# Fields that name the broker of a record, most exact first: a pod names one container of the
# broker, while a container, a stream and a host identify it only together.
_PODS = (
    *("kubernetes.pod_name", "kubernetes.pod.name", "k8s.pod.name", "k8s_pod_name", "podName"),
    *("pod_name", "pod", "labels.pod_name", "labels.pod"),
)
_CONTAINERS = ("container_name", "container.name", "containerName", "CONTAINER_NAME", "container")
_STREAMS = ("logStream", "logStreamName", "@logStream", "log_stream")
_HOSTS = (
    *("host.name", "host.hostname", "hostname", "_HOSTNAME", "host", "HOSTNAME", "node_name"),
    *("labels.instance_id", "instance", "agent.hostname"),
)
_SOURCES = (*_LABELS, *_PODS, *_CONTAINERS, *_STREAMS, *_HOSTS, "tags")
_INHERITED = (*_LABELS, *_STREAMS, "hostname", "host")
_TAG = re.compile(r"(?:pod_name|kube_pod|container_name|host):(.+)")  # of Datadog
_DOCKERS_PART = 16 << 10  # docker splits lines that are longer than this
_SYSLOG_LEVELS = ("ERROR", "ERROR", "ERROR", "ERROR", "WARN", "INFO", "INFO", "DEBUG")
_LEVEL_NAMES = {"WARNING": "WARN", "ERR": "ERROR", "CRITICAL": "FATAL", "NOTICE": "INFO"}
_LOG4J_LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
_BUNYAN_LEVELS = dict(zip(range(10, 70, 10), _LOG4J_LEVELS, strict=True))  # and of pino

_DEEPEST = 4  # maximum nesting: docker's object around a JSON line is 2
_MOST_KEYS = 100  # maximum number of a record's keys for caching
_DEEPEST_RECORD = 16  # maximum number of levels of a document. Loki's API has 7

# Units of numeric times by size: ns, us or ms since the epoch from these sizes on, and seconds
# below them.
_UNITS = ((10**17, 1), (10**14, 1000), (10**11, 1_000_000))


class FlatRecord(NamedTuple):
    """A record's fields.  ``source`` says what names the broker; ``trace`` has lines after the
    message; ``goes_on`` means that the message is the beginning of a line that the next record
    continues; ``fields`` are all fields of the record, by name.
    """

    message: str
    date: str | None = None
    level: str | None = None
    logger: str | None = None
    source: str | None = None
    trace: str | None = None
    goes_on: bool = False
    fields: Mapping[str, Any] = MappingProxyType({})


def is_document(beginning: bytes) -> bool:
    """Returns whether a file is JSON, but not one record per line, or CSV that is read as JSON."""
    if is_insights(beginning):
        return True
    sample = beginning[:_SNIFFED_BYTES].removeprefix(_MARK)
    if _ARRAY.match(sample):
        return True
    if not _OBJECT.match(sample):
        return False
    first, second = map(_parsed, (*sample.lstrip().split(b"\n", 2), b"")[:2])
    if is_record(first) or is_record(second):  # The first line of a rotated file may be truncated.
        return False
    return first is None or _has_record(first)


def _parsed(line: bytes) -> Any:
    """Returns None if it is not JSON by itself: it goes on in the next line, or beyond the
    sample.
    """
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _has_record(value: Any, levels: int = _DEEPEST_RECORD) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if is_record(value) or _is_loki_pair(value) or _is_row_of_fields(value):
        return True
    return levels > 0 and any(_has_record(each, levels - 1) for each in inner)


def document_lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Position and a JSON line of each record; text between documents as lines of its own."""
    if is_insights(text):
        yield from insights_lines(text)
        return
    place, offset = 0, len(_MARK) if text.startswith(_MARK) else 0
    decoded = text[offset:].decode("utf-8", "surrogateescape")
    for start, line in _lines_of_documents(decoded):
        offset += len(decoded[place:start].encode("utf-8", "surrogateescape"))
        place = start
        yield offset, line.encode("utf-8", "surrogateescape")


def _lines_of_documents(text: str) -> Iterator[tuple[int, str]]:
    decoder, at = json.JSONDecoder(), 0
    while (at := _past_space(text, at)) < len(text):
        try:
            document, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = text.find("\n", at) + 1 or len(text)
            yield at, text[at:end].rstrip("\n") + "\n"
        else:
            if not _has_record(document):
                yield at, text[at:end].replace("\n", " ") + "\n"
                at = end
                continue
            for start, record in _records(text, at, document, {}):
                yield start, json.dumps(record) + "\n"
        at = end


def _records(
    text: str, at: int, value: Any, around: dict[str, Any], levels: int = _DEEPEST_RECORD
) -> Iterator[tuple[int, Any]]:
    """(place in the text, record) of all records in the value that begins at a place.

    ``around`` says what the objects around it say of the broker.
    """
    if is_record(value):
        yield at, around | value
    elif _is_loki_pair(value):
        yield at, around | {"timestamp": int(value[0]), "message": value[1]}
    elif _is_row_of_fields(value):
        yield at, around | _of_row(value)
    elif isinstance(value, dict | list) and levels > 0:
        if isinstance(value, dict):
            around = around | {name: value[name] for name in _INHERITED if name in value}
        for start, inner in _inner_values(text, at + 1, is_object=isinstance(value, dict)):
            yield from _records(text, start, inner, around, levels - 1)


def _inner_values(text: str, at: int, *, is_object: bool) -> Iterator[tuple[int, Any]]:
    """The values of the object or the elements of the array whose first character is before."""
    decoder = json.JSONDecoder()
    while text[at := _past_space(text, at)] not in "]}":
        if is_object:
            _, at = decoder.raw_decode(text, at)
            at = _past_space(text, _past_space(text, at) + 1)
        value, end = decoder.raw_decode(text, at)
        yield at, value
        at = end


def _past_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None  # The value may be empty.
    return match.end()


def is_record(value: Any) -> bool:
    """Returns whether it is an object with a message."""
    return isinstance(value, dict) and _message(value) is not None


def _is_loki_pair(value: Any) -> bool:
    is_pair = isinstance(value, list) and len(value) >= 2 and isinstance(value[1], str)
    return is_pair and isinstance(value[0], str) and _LOKI_TIME.fullmatch(value[0]) is not None


def _is_row_of_fields(value: Any) -> bool:
    """A row of CloudWatch Logs Insights: a list of objects with field and value."""
    if not isinstance(value, list):
        return False
    return any(isinstance(each, dict) and each.get("field") == "@message" for each in value)


def _of_row(row: list[Any]) -> dict[str, Any]:
    """The row as a record."""
    pairs = [each for each in row if isinstance(each, dict) and isinstance(each.get("field"), str)]
    return with_zone({each["field"]: each.get("value") for each in pairs})


def _places(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The record and the objects in it that may have its fields, the innermost last."""
    places, at = [record], 0
    while at < len(places) <= _DEEPEST_RECORD:
        inner = (places[at].get(name) for name in _INNER)
        places += [each for each in inner if isinstance(each, dict)]
        at += 1
    return places


def _message(record: dict[str, Any]) -> str | None:
    return _message_in(_places(record))


def _message_in(places: list[dict[str, Any]]) -> str | None:
    for place in places:
        for name in _names_of(place, _MESSAGES):
            message = _message_text(_at(place, name))
            if message:
                return message
    return next((text for text in _strings(places[0]) if PREFIX.search(text)), None)


def _message_text(value: Any) -> str | None:
    """Text; of journald, also as the numbers of its bytes; of Elasticsearch's fields, in a list."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not value:
        return None
    if len(value) == 1 and isinstance(value[0], str):
        return value[0]
    if all(type(byte) is int and 0 <= byte < 256 for byte in value):
        return bytes(value).decode("utf-8", "replace")
    return None


def _strings(record: dict[str, Any], levels: int = _DEEPEST) -> Iterator[str]:
    for value in record.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict) and levels > 0:
            yield from _strings(value, levels - 1)


def flat_record(value: Any, deepest: int = _DEEPEST) -> FlatRecord | None:
    """A record's message, and the other fields if the record or an object around it has them."""
    if not isinstance(value, dict):
        return None
    places = _places(value)
    message = _message_in(places)
    if message is None:
        return None
    source = _source_of(places)
    places.reverse()
    flat = FlatRecord(
        message=message,
        date=_date_in(places),
        level=_level(_first(places, _LEVELS)),
        logger=_text(_first(places, _LOGGERS)),
        source=source,
        trace=_trace(places, message),
        goes_on=_goes_on(value, message),
        fields={name: each for place in places[::-1] for name, each in place.items()},
    )
    inner = _within(message, deepest)
    if inner is None:
        return flat
    return inner._replace(
        date=inner.date or flat.date,
        level=inner.level or flat.level,
        logger=inner.logger or flat.logger,
        source=flat.source or inner.source,
    )


def _within(message: str, deepest: int) -> FlatRecord | None:
    """The record in a message that is JSON itself."""
    if deepest == 0 or not message.lstrip().startswith("{"):
        return None
    try:
        return flat_record(json.loads(message), deepest - 1)
    except (ValueError, RecursionError):
        return None


def _source_of(places: list[dict[str, Any]]) -> str | None:
    """The name of the broker of a record: its pod, or its container, stream and host."""
    if len(places) == 1 and not _names_of(places[0], _SOURCES):
        return None
    places = [*places, *(labels for name in _LABELS for labels in _objects(places, name))]
    pod = _name(places, _PODS)
    if pod is not None:
        return pod
    names = [_name(places, each) for each in (_CONTAINERS, _STREAMS, _HOSTS)]
    tags = (tag for place in places for tag in _tags(place.get("tags")))
    return "/".join(filter(None, names)) or next(tags, None)


def _objects(places: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [inner for place in places if isinstance(inner := place.get(name), dict)]


def _name(places: list[dict[str, Any]], names: tuple[str, ...]) -> str | None:
    for name in _names_of(places[0], names) if len(places) == 1 else names:
        for place in places:
            text = _message_text(_at(place, name))
            if text:
                return text
    return None


def _tags(value: Any) -> Iterator[str]:
    for tag in value if isinstance(value, list) else ():
        match = _TAG.fullmatch(tag) if isinstance(tag, str) else None
        if match:
            yield match[1]


def _goes_on(record: dict[str, Any], message: str) -> bool:
    """Returns whether a container's runtime split the line here:

    CRI's tag, docker's missing newline.
    """
    if record.get("logtag") == "P" or record.get("_p") == "P":
        return True
    if record.get("partial_message") == "true":
        return record.get("partial_last") != "true"
    is_dockers = isinstance(record.get("log"), str) and "stream" in record and "time" in record
    return is_dockers and len(message) >= _DOCKERS_PART // 4 and not message.endswith("\n")


def _trace(places: list[dict[str, Any]], message: str) -> str | None:
    value = _first(places, _TRACES)
    if isinstance(value, list):
        thrown = next(iter(_objects(places, "thrown")), {})
        frames = [f"\tat {each.get('class')}.{each.get('method')}" for each in _dicts(value)]
        return "\n".join([f"{thrown.get('name')}: {thrown.get('message')}", *frames])
    text = _text(value)
    return text.removeprefix(message).strip("\n") or None if text else None


def _dicts(values: list[Any]) -> list[dict[str, Any]]:
    return [each for each in values if isinstance(each, dict)]


def _first(places: list[dict[str, Any]], names: tuple[str, ...]) -> Any:
    """The first value of these names in the first of the objects that has one."""
    for place in places:
        for name in _names_of(place, names):
            value = _at(place, name)
            if value is not None:
                return value[0] if isinstance(value, list) and len(value) == 1 else value
    return None


def _names_of(record: dict[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    """The names for which a record may have a value."""
    return _in_keys(names, tuple(record)) if len(record) <= _MOST_KEYS else names


@lru_cache(maxsize=4096)
def _in_keys(names: tuple[str, ...], keys: tuple[str, ...]) -> tuple[str, ...]:
    """See `_names_of`; cached, because most records of a logger have the same keys."""
    return tuple(name for name in names if name in keys or name.partition(".")[0] in keys)


def _at(record: dict[str, Any], name: str) -> Any:
    """The value of a name; ``log.level`` is also ``level`` of an object ``log``."""
    if name in record:
        return record[name]
    outer, _, inner = name.partition(".")
    if not inner or not isinstance(record.get(outer), dict):
        return None
    return _at(record[outer], inner)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _level(value: Any) -> str | None:
    """log4j's name of a level; syslog, bunyan and pino have numbers."""
    if isinstance(value, int):
        is_syslog = 0 <= value < len(_SYSLOG_LEVELS)
        return _SYSLOG_LEVELS[value] if is_syslog else _BUNYAN_LEVELS.get(value)
    name = value.upper() if isinstance(value, str) else ""
    name = _LEVEL_NAMES.get(name, name)
    return name if name in _LOG4J_LEVELS else None


def _date_in(places: list[dict[str, Any]]) -> str | None:
    """The date of one name, or of the two names that Google Cloud defines."""
    date = _date(_first(places, _DATES))
    if date is not None:
        return date
    names = {"seconds": ("timestampSeconds",), "nanos": ("timestampNanos",)}
    return _date({part: _first(places, name) for part, name in names.items()})


def _date(value: Any) -> str | None:
    """A date as in a log line; numbers are seconds, ms, us or ns since the epoch."""
    if isinstance(value, dict):
        parts = (_first([value], names) for names in (_SECOND_PARTS, _NANO_PARTS))
        try:
            second, nano = (int(part or 0) for part in parts)
        except (TypeError, ValueError, OverflowError):
            return None
        return _date(second * 1_000_000_000 + nano) if second else None
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return value
        value = float(value) if "." in value else int(value)
    if isinstance(value, int | float):
        try:
            ns = _epoch_ns(value)
            moment = datetime.fromtimestamp(ns // 1_000_000_000, UTC)
        except (ValueError, OverflowError, OSError):  # beyond year 9999
            return None
        return f"{moment:%Y-%m-%dT%H:%M:%S}.{ns % 1_000_000_000:09}Z"
    return None


def _epoch_ns(value: float) -> int:
    unit = next((unit for least, unit in _UNITS if value >= least), 1_000_000_000)
    return value * unit if isinstance(value, int) else round(value * 1e6) * unit // 1_000_000
