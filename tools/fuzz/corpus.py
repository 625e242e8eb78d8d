"""Small inputs, cut from what real brokers and clients left on disk and from recorded traces."""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
from datetime import datetime
from functools import cache
from pathlib import Path

from jobs.segments.frames import Frame, frames
from tests.jobs.log_shapes import DOCUMENTS, PER_ENTRY, PER_LINE, Entry, per_entry, per_line

_ROOT = Path(__file__).resolve().parents[2]
_DATA = _ROOT / "tests" / "data"
_INCIDENTS = sorted((_ROOT / "examples").glob("mixed-clients-*"))
_RECORDS = sorted((_DATA / "modern_groups").glob("mixed-*/records.jsonl.gz"))
_NEW_LOGS = sorted((_DATA / "modern_groups").glob("mixed-*/server.log.gz"))
_TRACES = sorted((_DATA / "coordinator").glob("broker-*.jsonl.gz"))
_CLIENT_LOGS = sorted(file for file in (_DATA / "client_logs").rglob("*") if file.is_file())
# An export has lines of a broker's log in the shape of a log store or agent; a client is a
# consumer's log.
KINDS = ("log", "segment", "trace", "dump", "client", "export")
_SHAPES = sorted([*PER_LINE, *PER_ENTRY, *DOCUMENTS])
_LINE = re.compile(
    rb"\[(?P<date>[\d-]+ [\d:]+),(?P<ms>\d{3})\] (?P<level>[A-Z]+) (?P<message>.*?)"
    rb"(?: \((?P<logger>[\w.$]+)\))?\n?"
)
_LINES, _BATCHES, _ROWS, _EVENTS = 40, 12, 15, 15


@cache
def _logs() -> list[list[bytes]]:
    plain = [incident.joinpath("server.log").read_bytes() for incident in _INCIDENTS]
    new = [gzip.decompress(log.read_bytes()) for log in _NEW_LOGS]
    coordinators = [
        [line for line in log.splitlines(keepends=True) if b"oordinator" in line]
        for log in (*plain, *new)
    ]
    return [lines for lines in coordinators if len(lines) > _LINES]


@cache
def _client_logs() -> list[list[bytes]]:
    texts = [file.read_bytes() for file in _CLIENT_LOGS]
    plain = [gzip.decompress(text) if text.startswith(b"\x1f\x8b") else text for text in texts]
    return [[x for x in text.splitlines(keepends=True) if b"onsumer" in x] for text in plain]


@cache
def _segments() -> list[tuple[bytes, list[Frame]]]:
    paths = [*_INCIDENTS, _DATA / "segments"]
    files = [file for path in paths for file in sorted(path.rglob("*.log"))]
    segments = []
    for file in files:
        data = file.read_bytes()
        batches = [each for each in frames(memoryview(data)) if isinstance(each, Frame)]
        if file.parent.name.startswith("__consumer_offsets") and batches:
            segments.append((data, batches))
    return segments


@cache
def _records() -> list[list[bytes]]:
    return [gzip.decompress(file.read_bytes()).splitlines(keepends=True) for file in _RECORDS]


@cache
def _events() -> list[bytes]:
    traces = [
        json.loads(line).get("trace", ())
        for file in _TRACES
        for line in gzip.decompress(file.read_bytes()).splitlines()
    ]
    return [json.dumps(event).encode() + b"\n" for trace in traces for event in trace]


def _some(lines: list[bytes], count: int, chance: random.Random) -> bytes:
    start = chance.randrange(max(1, len(lines) - count))
    return b"".join(lines[start : start + count])


def _in_a_shape(lines: bytes, chance: random.Random) -> bytes:
    """As a log store exports them, or an agent writes them."""
    shape, entries = chance.choice(_SHAPES), list(map(_entry, lines.splitlines()))
    if shape in DOCUMENTS:
        return str(DOCUMENTS[shape](entries)).encode()
    write = per_line if shape in PER_LINE else per_entry
    return str(write(shape, entries, newest_first=chance.random() < 0.3)).encode()


def _entry(line: bytes) -> Entry:
    text = line.decode("utf-8", "replace")
    match = _LINE.fullmatch(line)
    if match is None:
        return Entry(1_795_401_358_643, "kafka-0", [text], message=text)
    fields = {name: (value or b"").decode() for name, value in match.groupdict().items()}
    ms = round(datetime.fromisoformat(f"{fields['date']}+00:00").timestamp()) * 1000
    level, logger, message = (fields[name] for name in ("level", "logger", "message"))
    return Entry(ms + int(fields["ms"]), "kafka-0", [text], level, logger, message)


def _in_partition(row: bytes, partition: int) -> bytes:
    """Records of two inputs with one offset would contradict one another."""
    return json.dumps(json.loads(row) | {"partition": partition}).encode() + b"\n"


def input_of(kind: str, partition: int, chance: random.Random) -> bytes:
    """A few lines or batches of a real file; rows of a dump are of this partition."""
    if kind == "log":
        return _some(chance.choice(_logs()), _LINES, chance)
    if kind == "export":
        return _in_a_shape(_some(chance.choice(_logs()), _LINES, chance), chance)
    if kind == "client":
        lines = _some(chance.choice(_client_logs()), _LINES, chance)
        return _in_a_shape(lines, chance) if chance.random() < 0.5 else lines
    if kind == "trace":
        return _some(_events(), _EVENTS, chance)
    if kind == "dump":
        rows = _some(chance.choice(_records()), _ROWS, chance).splitlines()
        return b"".join(_in_partition(row, partition) for row in rows)
    data, batches = chance.choice(_segments())
    start = chance.randrange(max(1, len(batches) - _BATCHES))
    last = batches[min(start + _BATCHES, len(batches)) - 1]
    return data[batches[start].position : last.position + last.size]


def dump_header(partition: int) -> bytes:
    """A first row by which the columns of a dump are segments."""
    row = {
        "topic": "__consumer_offsets",
        "partition": partition,
        "offset": 0,
        "timestamp": 1_795_401_358_643,
        "key": base64.b64encode(b"\0\2\0\1g").decode(),
        "value": None,
    }
    return json.dumps(row).encode() + b"\n"
