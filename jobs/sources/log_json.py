"""JSON around log lines: one object per line, or documents with many (arrays, API responses).

A record is an object with a message: of a log4j JSON layout, of docker's json-file driver around
plain or JSON lines, of Elasticsearch (`_source`), of logcli; and a pair of time and line of Loki's
API.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from coordinator_core.log_lines.messages import PREFIX

DOCUMENT_BYTES = 64 << 20  # the most that is read at once
_MARK = codecs.BOM_UTF8
_SNIFFED_BYTES = 1 << 20
_ARRAY = re.compile(rb"\s*\[\s*\{")
_OBJECT = re.compile(rb'\s*\{\s*(?:"[^"\n]*"\s*:|\n)')
_SPACE = re.compile(r"[\s,]*")

_MESSAGES = ("message", "log", "line", "msg", "MESSAGE")
_LEVELS = ("level", "severity", "log.level", "levelname")
_LOGGERS = ("logger", "loggerName", "logger_name", "log.logger", "class", "category")
_DATES = ("timestamp", "@timestamp", "time", "ts", "date", "timeMillis", "instant")
_DEEPEST = 4  # docker's object around a JSON line is 2

# Numbers of this size and above are ms, us, ns since the epoch; below, seconds.
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


def is_document(beginning: bytes) -> bool:
    """Whether a file is JSON, but not one record per line."""
    sample = beginning[:_SNIFFED_BYTES].removeprefix(_MARK)
    if _ARRAY.match(sample):
        return True
    if not _OBJECT.match(sample):
        return False
    first, second = map(_parsed, (*sample.lstrip().split(b"\n", 2), b"")[:2])
    if is_record(first) or is_record(second):  # the first line of a rotated file may be cut
        return False
    return first is None or _has_record(first)


def _parsed(line: bytes) -> Any:
    """None if it is not JSON by itself: it goes on in the next line, or beyond the sample."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _has_record(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return is_record(value) or _is_loki_pair(value) or any(map(_has_record, inner))


def document_lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Position and a JSON line of each record; text between documents as lines of its own."""
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
            for start, record in _records(text, at, document):
                yield start, json.dumps(record) + "\n"
        at = end


def _records(text: str, at: int, value: Any) -> Iterator[tuple[int, Any]]:
    """(place in the text, record) of all records in the value that begins at a place."""
    if is_record(value):
        yield at, value
    elif _is_loki_pair(value):
        yield at, {"timestamp": int(value[0]), "message": value[1]}
    elif isinstance(value, dict | list):
        for start, inner in _inner_values(text, at + 1, is_object=isinstance(value, dict)):
            yield from _records(text, start, inner)


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
    assert match is not None  # it may be empty
    return match.end()


def is_record(value: Any) -> bool:
    """Whether it is an object with a message."""
    return isinstance(value, dict) and _message(value) is not None


def _is_loki_pair(value: Any) -> bool:
    is_pair = isinstance(value, list) and len(value) >= 2 and isinstance(value[1], str)
    return is_pair and isinstance(value[0], str) and value[0].isdecimal()


def _message(record: dict[str, Any]) -> str | None:
    source = record.get("_source")
    if isinstance(source, dict):
        return _message(source)
    message = next((v for n in _MESSAGES if isinstance(v := record.get(n), str)), None)
    if message is not None:
        return message
    texts = (value for value in record.values() if isinstance(value, str))
    return next((text for text in texts if PREFIX.search(text)), None)


def flat_record(value: Any, deepest: int = _DEEPEST) -> dict[str, str] | None:
    """``message``, and ``date``, ``level``, ``logger`` if the record or one around it has them."""
    if not isinstance(value, dict) or (message := _message(value)) is None:
        return None
    source = value["_source"] if isinstance(value.get("_source"), dict) else value
    fields = {
        "date": _date(_first(source, _DATES)),
        "level": _text(_first(source, _LEVELS)),
        "logger": _text(_first(source, _LOGGERS)),
    }
    flat = {name: text for name, text in fields.items() if text} | {"message": message}
    return flat | (_within(message, deepest) or {})


def _within(message: str, deepest: int) -> dict[str, str] | None:
    """The record in a message that is JSON itself."""
    if deepest == 0 or not message.lstrip().startswith("{"):
        return None
    try:
        return flat_record(json.loads(message), deepest - 1)
    except (ValueError, RecursionError):
        return None


def _first(record: dict[str, Any], names: Iterable[str]) -> Any:
    """The first value of these names; ``log.level`` is also ``level`` of an object ``log``."""
    for name in names:
        if name in record:
            return record[name]
        outer, _, inner = name.partition(".")
        if inner and isinstance(record.get(outer), dict) and inner in record[outer]:
            return record[outer][inner]
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _date(value: Any) -> str | None:
    """As in a log line; numbers are seconds, ms, us or ns since the epoch."""
    if isinstance(value, dict):  # log4j 2: instant
        second, nano = value.get("epochSecond"), value.get("nanoOfSecond", 0)
        if not isinstance(second, int) or not isinstance(nano, int):
            return None
        return _date(second * 1000 + nano // 1_000_000)
    if isinstance(value, int | float):
        per_second = next((unit for least, unit in _UNITS if value >= least), 1)
        try:
            moment = datetime.fromtimestamp(value / per_second, UTC)
        except (ValueError, OverflowError, OSError):  # beyond year 9999
            return None
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return _text(value)
