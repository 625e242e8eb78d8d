"""Text around a log line: prefixes of containers and terminals, JSON objects, line heads."""

from __future__ import annotations

import json
import re
import sys
from typing import NamedTuple

from coordinator_core.log_lines.messages import PREFIX
from jobs.sources.logs.json_around import FlatRecord, flat_record

# A line with Kafka's own date in brackets is not wrapped.
PLAIN_HEAD = re.compile(rb"\[\d{4}-")
TRACE_LINE = re.compile(
    rb"\s|$|Caused by: |Suppressed: |\.\.\. \d+ |[\w.$]+(?:Exception|Error|Throwable)\b"
)
"""Prefixes of the lines of a stack trace."""
_FARTHEST_HEAD = 200
_DATE = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_DATE_MIDDLE = re.compile(rb"-\d\d[ T]\d\d:")
_UNDATED_HEAD = re.compile(
    rb"(?:[\d/:., -]+ )?\[?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b"
    rb"|\s*\[(?:GroupCoordinator|GroupMetadataManager|Group Metadata Manager)[ \]]|\s*\{"
)
# In any other layout a line begins with a time of day, possibly after its date.
_TIME_FIRST = re.compile(
    rb"[^a-z\n]{0,40}?(?<!\d)\d\d?:\d\d:\d\d(?!\d)"
    rb"|\[?(?:\d{4}[-/.])?\d\d[-/.]\d\d[ T]\d\d:\d\d(?!\d)"
    rb"|(?:[A-Z][a-z]{2},? )?[A-Z][a-z]{2} [ \d]?\d,? (?:\d{4},? )?\d\d?:\d\d:\d\d"
    rb"|\d{10}(?:\d{3})?[. |]"
    rb"|(?:time|ts|timestamp|level|lvl)="
)
# java.util.logging, .NET and Payara print date, level and logger on a line of their own.
_HEAD_ALONE = re.compile(
    rb"[A-Z][a-z]{2} \d\d?, \d{4} \d\d?:\d\d:\d\d(?: |\xe2\x80\xaf)?[AP]M [\w.$]+(?: [\w$<>]+)?\r?$"
    rb"|(?:[^a-z\n]{0,40}\d\d:\d\d:\d\d[^a-z\n]{0,20})?(?:trce|dbug|info|warn|fail|crit): "
    rb"[\w.`+]+\[\d+\]\s*$"
    rb"|\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[^\n]*\[\[\s*$"
)
_COORDINATORS = (b"[GroupCoordinator ", b"[GroupMetadataManager ", b"[Group Metadata Manager ")
_LEVEL = re.compile(r"\[?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b")
_COLOR = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")
_COLOR_OF_TEXT = re.compile(_COLOR.pattern.decode())
_MOST_PREFIXES = 4
_MOST_PODS = 1000

_ISO = rb"(?P<date>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d))"
_UNIT = (
    rb"(?!(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL|Caused|Suppressed)\b)"
    rb"(?P<source>[\w.:-]+) [\w.@/()-]+(?:\[\d+\])?: "
)
_SHORT = rb"(?P<date>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?)"
_POD = rb"[a-z0-9][a-z0-9.]*(?:-[a-z0-9.]+)+"  # the name of a pod has a hyphen
_HEAD_NEXT = rb"(?=\x1b?\[?\d{4}-\d\d-\d\d[ T]|\{)"
_LINE_NEXT = rb"(?:" + _HEAD_NEXT + rb"|(?=" + TRACE_LINE.pattern + rb"))"
_DIGITS, _CAPITALS = b"0123456789", bytes(range(ord("A"), ord("Z") + 1))
_NAMES = _DIGITS + _CAPITALS + _CAPITALS.lower() + b"._-"
# Each pattern matches a prefix of one tool and has the possible first characters beside it.
_PREFIXES = tuple(
    (first, re.compile(pattern))
    for first, pattern in (
        (b"[", rb"\[pod/(?P<source>[^/\]\s]+)/[^\]\s]+\] "),  # kubectl logs --prefix
        (  # docker compose
            _NAMES,
            rb"(?!(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) )(?P<source>[\w.-]+) *\| ?",
        ),
        (_NAMES, rb"[\w.-]+ *\| ?"),
        (_DIGITS, _ISO + rb" std(?:out|err) (?P<part>[FP]) ?"),  # container runtimes (CRI)
        (_DIGITS, _ISO + rb" " + _UNIT),  # journalctl -o short-iso, rsyslog
        (_CAPITALS, _SHORT + rb" " + _UNIT),  # journalctl -o short
        (  # journalctl -o short-full
            _CAPITALS,
            rb"[A-Z][a-z]{2} (?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z]{3,4}) " + _UNIT,
        ),
        (_DIGITS, rb"(?P<date>\d{9,10}\.\d{6}) " + _UNIT),  # journalctl -o short-unix
        (b"[", rb"\[ *\d+\.\d{6}\] " + _UNIT),  # journalctl -o short-monotonic
        (
            b"<",
            rb"<\d{1,3}>1 "
            + _ISO
            + rb" (?P<source>\S+) \S+ \S+ \S+ (?:-|\[[^\]]*\]) (?:\xef\xbb\xbf)?",
        ),
        (b"<", rb"<\d{1,3}>(?:" + _SHORT + rb" " + _UNIT + rb")?"),  # syslog
        (_DIGITS, _ISO + rb"\s+\S+\s+(?=\{)"),  # fluentd's files: date, tag, JSON
        (_DIGITS, _ISO + rb" \{(?P<labels>[^}\n]*)\} "),  # logcli
        # CloudWatch's export, docker logs -t, kubectl --timestamps
        (_DIGITS, _ISO + rb" " + _LINE_NEXT),
        # aws logs tail
        (
            _DIGITS,
            _ISO
            + rb" (?!(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b)(?P<source>\w[\w./:\[\]$-]*) "
            + _LINE_NEXT,
        ),
        (_NAMES, rb"[a-z0-9-]+/(?P<source>[a-z0-9.-]+)\[[\w.-]+\]: "),  # kail
        (  # stern
            _NAMES,
            rb"(?:[a-z0-9-]+ )?(?P<pod>" + _POD + rb") [a-z0-9][a-z0-9-]* " + _HEAD_NEXT,
        ),
        (b"d\x1e", rb"data: (?=\{)|\x1e(?=\{)"),  # journalctl -o json-sse, json-seq
    )
)
_PREFIXES_BY_FIRST = tuple(
    tuple(prefix for first, prefix in _PREFIXES if character in first) for character in range(256)
)
_LABEL = re.compile(rb'(?:^|[,\s])(?:pod|pod_name|hostname|host|instance)="([^"]*)"')


class Unwrapped(NamedTuple):
    """The content of a line.

    ``body`` says what follows the prefix, or the record's message.  ``source`` says what names the
    broker, of the prefix or the record.  ``goes_on`` means that the next line of the same source
    continues this line. ``date`` is the date of the prefix or the record.  ``record`` has all other
    fields of JSON. ``unknown`` says why JSON has no message.
    """

    body: bytes
    source: str | None = None
    goes_on: bool = False
    date: str | None = None
    record: FlatRecord | None = None
    unknown: str | None = None


def may_have_date(text: bytes, end: int = sys.maxsize) -> bool:
    """Returns whether the middle of a date and time is in the first ``end`` bytes; a fast
    search.
    """
    return _DATE_MIDDLE.search(text, 0, end) is not None


def has_head(body: bytes) -> bool:
    """Returns whether a line begins with a date, a level or the coordinator's prefix."""
    if may_have_date(body, _FARTHEST_HEAD) and _DATE.search(body, 0, _FARTHEST_HEAD):
        return True
    is_undated = _UNDATED_HEAD.match(body, 0, _FARTHEST_HEAD)
    return is_undated is not None or _TIME_FIRST.match(body, 0, _FARTHEST_HEAD) is not None


def has_prefix(body: bytes) -> bool:
    """Returns whether a line has the coordinator's prefix, whatever is before it."""
    return any(prefix in body for prefix in _COORDINATORS)


def is_head_alone(body: bytes) -> bool:
    """Returns whether a line has only the date and level of the message on the next line."""
    return len(body) < 2 * _FARTHEST_HEAD and _HEAD_ALONE.match(body) is not None


def with_head(head: bytes, body: bytes) -> bytes:
    """The head and the line joined; the line alone if it may have a date of its own."""
    return body if may_have_date(body, _FARTHEST_HEAD) else head.rstrip() + b" " + body.lstrip()


def unwrapped(raw: bytes, pods: set[bytes] | None = None) -> Unwrapped:
    """The content within colors, prefixes, zeros and JSON; `line_of` converts it to a line.

    ``pods`` are the prefixes of stern so far, which the lines of a stack trace begin with, too.
    """
    body = _COLOR.sub(b"", raw) if b"\x1b" in raw else raw
    body = body.lstrip(b"\0")
    inside = Unwrapped(body)
    for _ in range(_MOST_PREFIXES):
        outside, inside = inside, _without_prefix(inside, pods)
        if inside.body is outside.body:
            break
    return _from_json(inside) if inside.body.startswith(b"{") else inside


def line_of(inside: Unwrapped) -> bytes:
    """The line that the broker wrote.  If it has no date, level or logger, it gets those from the
    text around it, and it gets the stack trace that the record has.
    """
    if inside.record is not None:
        return _line_of_record(inside.body.decode("utf-8", "replace"), inside.record, inside.date)
    return inside.body if inside.date is None else _with_date(inside.body, inside.date)


def _without_prefix(line: Unwrapped, pods: set[bytes] | None) -> Unwrapped:
    body = line.body
    if PLAIN_HEAD.match(body) or body.startswith((b"{", b"\t")):
        return line
    prefixes = _PREFIXES_BY_FIRST[body[0]] if body else ()
    match = next((taken for each in prefixes if (taken := each.match(body))), None)
    if match is None:
        prefix = _known_pod(body, pods) if pods else None
        return line if prefix is None else _without_pod(line, prefix)
    fields = match.groupdict()
    if fields.get("pod") and pods is not None and len(pods) < _MOST_PODS:
        pods.add(match[0])
    return Unwrapped(
        body[match.end() :],
        line.source or _source(fields),
        line.goes_on or fields.get("part") == b"P",
        date.decode() if (date := fields.get("date")) else line.date,
    )


def _source(fields: dict[str, bytes | None]) -> str | None:
    source = fields.get("source") or fields.get("pod")
    if source is None and (label := _LABEL.search(fields.get("labels") or b"")):
        source = label[1]
    return source.decode("utf-8", "replace") if source else None


def _known_pod(body: bytes, pods: set[bytes]) -> bytes | None:
    words = body.split(b" ", 3)
    prefixes = (b" ".join(words[:count]) + b" " for count in (2, 3) if len(words) > count)
    return next((prefix for prefix in prefixes if prefix in pods), None)


def _without_pod(line: Unwrapped, prefix: bytes) -> Unwrapped:
    """The pod is the word before the container."""
    pod = prefix.split()[-2].decode("utf-8", "replace")
    return line._replace(body=line.body[len(prefix) :], source=pod)


def _with_date(body: bytes, date: str) -> bytes:
    """A line with the prefix' date, if it has none and is not of a stack trace."""
    if _DATE.search(body, 0, _FARTHEST_HEAD) or (
        TRACE_LINE.match(body) and not _UNDATED_HEAD.match(body.lstrip())
    ):
        return body
    return b"[" + date.encode() + b"] " + body


def _from_json(line: Unwrapped) -> Unwrapped:
    """The message of a JSON object, and its other fields."""
    try:
        value = json.loads(line.body.rstrip(b", \r\n"))
        record = flat_record(value)
    except (ValueError, RecursionError):
        return line
    if record is None:
        return line._replace(unknown=_unknown(value, line.body))
    message = record.message.rstrip("\r\n")
    message = _COLOR_OF_TEXT.sub("", message) if "\x1b" in message else message
    return Unwrapped(
        _encoded(message),
        line.source or record.source,
        line.goes_on or record.goes_on,
        record.date or line.date,
        record,
    )


def _line_of_record(message: str, record: FlatRecord, date: str | None) -> bytes:
    first, newline, rest = message.partition("\n")
    text = _composed(record, first.rstrip("\r"), date)
    trace = f"\n{record.trace}" if record.trace else ""
    return _encoded(text + newline + rest + trace)


def _unknown(value: object, body: bytes) -> str | None:
    """The fields of an object that names the coordinator, none of which is known."""
    if not isinstance(value, dict) or not (
        PREFIX.search(text := body.decode("utf-8", "replace")) or "coordinator.group" in text
    ):
        return None
    return f"JSON without a known message field; its fields: {', '.join(list(value)[:8])}"


def _composed(record: FlatRecord, line: str, date: str | None) -> str:
    if not has_head(_encoded(line)) or line.startswith("[Group"):
        if record.logger is None and TRACE_LINE.match(_encoded(line)):
            return line  # An object store for log lines also has the lines of a stack trace.
        if not _LEVEL.match(line):
            line = f"{record.level or 'INFO'} {line}"
        line = f"[{date}] {line}" if date else line
        # A logger's name without a package would count as a part of the message.
        return f"{line} ({record.logger})" if record.logger and "." in record.logger else line
    if date and not _DATE.search(_encoded(line), 0, _FARTHEST_HEAD):
        return f"[{date}] {line}"
    return line


def _encoded(line: str) -> bytes:
    """JSON may escape halves of characters, which UTF-8 does not have."""
    return line.encode("utf-8", "replace")


def text_of(body: bytes) -> str:
    """The line as text; bytes that are not UTF-8 are read as Latin-1, which keeps every byte."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("latin-1")
    return text.rstrip("\r")


def is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
