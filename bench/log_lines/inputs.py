"""Logs that the benchmark reads: a broker's, applications' with a consumer, and consumers' alone.

A broker's lines are those of the server.log of an incident of examples/: its coordinator lines; its
other lines; and a mixed log with one coordinator line after every 49 others.  That is a broker
whose groups rebalance now and then; in the incident itself one line in five is the coordinator's.
A list of settings stays with its line.

Consumers' lines were captured.  In an application's log, one of these lines follows every 199 lines
of the application, in the same layout.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, cycle, islice
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BROKER_LOG = ROOT / "examples" / "mixed-clients-3.9.1" / "server.log"
CLIENT_LOGS = ROOT / "tests" / "data" / "client_logs"
COORDINATOR = b"(kafka.coordinator.group."
OTHERS_PER_COORDINATOR_LINE = 49
OTHERS_PER_CONSUMER_LINE = 199
_APPLICATION_LINES = 5000  # number of different lines of an application
_STARTED_MS = 1_795_729_304_261
_JAVA = re.compile(
    r"\[(?P<at>[\d-]+ [\d:,]+)\] (?P<level>[A-Z]+) (?P<message>.*) \((?P<logger>[\w.]+)\)\n"
)

BROKER, CLIENT = "broker", "client"


class Input(NamedTuple):
    """A log; ``kind``: BROKER or CLIENT."""

    name: str
    kind: str
    text: bytes


class Line(NamedTuple):
    """A line of an application, in no layout yet."""

    at: datetime
    level: str
    thread: str
    logger: str
    message: str


def inputs(size: int) -> Iterator[Input]:
    """Each log, of at least ``size`` bytes."""
    coordinator = [entry for entry in broker_entries() if COORDINATOR in entry]
    others = [entry for entry in broker_entries() if COORDINATOR not in entry]
    mixed = _mixed(others, coordinator, OTHERS_PER_COORDINATOR_LINE)
    yield Input("coordinator lines", BROKER, _first(cycle(coordinator), size))
    yield Input("other lines", BROKER, _first(cycle(others), size))
    yield Input("mixed, 1 in 50", BROKER, _first(mixed, size))
    java = captured("reports-1.log.gz", b"[Consumer ")
    for layout, write, own in (
        ("Java", _java, java),
        ("Spring", _spring, captured("zoo/spring-classic.log.gz", b"[Consumer ")),
        ("JSON", _json, [_json(_of_java(line)) for line in java]),
        ("zap", _zap, captured("zoo/franz-go-kzap.log.gz", b'"group":')),
        ("Python", _python, captured("kpy-1.log.gz", b"kafka.co")),
    ):
        application = [write(line) for line in application_lines()]
        text = _first(_mixed(application, own, OTHERS_PER_CONSUMER_LINE), size)
        yield Input(f"application, {layout}, 1 in 200", CLIENT, text)
    yield Input("consumer lines, Java", CLIENT, _first(cycle(java), size // 4))
    librdkafka = captured("rdk-1.log.gz", b"[thrd:")
    yield Input("consumer lines, librdkafka", CLIENT, _first(cycle(librdkafka), size // 4))


def broker_entries() -> list[bytes]:
    """The lines of the broker's log, each with the indented lines that belong to it."""
    lines = BROKER_LOG.read_bytes().splitlines(keepends=True)
    starts = [n for n, line in enumerate(lines) if line.startswith(b"[")]
    ends = [*starts[1:], len(lines)]
    return [b"".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]


def application_lines() -> Iterator[Line]:
    """Requests, jobs and orders of a service, with different numbers."""
    chance = random.Random(1)
    for number in range(_APPLICATION_LINES):
        logger, level, message = chance.choice(_MESSAGES)
        numbers = {"n": chance.randrange(10**6), "c": chance.randrange(1000), "ms": number % 97}
        at = datetime.fromtimestamp((_STARTED_MS + 37 * number) / 1000, UTC)
        thread = f"http-nio-8080-exec-{number % 10}"
        yield Line(at, level, thread, logger, message.format(**numbers))


_MESSAGES = (
    ("com.acme.orders.OrderHandler", "INFO", "handled order {n} of customer {c} in {ms} ms"),
    ("com.acme.orders.OrderHandler", "INFO", "order {n} was placed by customer {c}, total 99.95"),
    ("com.acme.web.AccessLog", "INFO", "GET /api/orders/{n} 200 {ms} ms, customer={c}"),
    ("com.acme.web.AccessLog", "WARN", "POST /api/orders/{n}/pay 502 {ms} ms, retrying"),
    ("com.acme.store.CustomerCache", "DEBUG", "no entry for customer {c}, reading the database"),
    ("com.acme.jobs.Reports", "INFO", "Report {n} has {c} rows and took {ms} ms"),
    ("com.zaxxer.hikari.pool.HikariPool", "DEBUG", "Pool stats (total=10, active={ms}, idle=8)"),
    ("com.acme.stock.Inventory", "INFO", "reserved {c} items of article {n} in warehouse 7"),
)


def _java(line: Line) -> bytes:
    at = f"{line.at:%Y-%m-%d %H:%M:%S},{line.at.microsecond // 1000:03}"
    return f"[{at}] {line.level} {line.message} ({line.logger})\n".encode()


def _spring(line: Line) -> bytes:
    at = f"{line.at:%Y-%m-%dT%H:%M:%S}.{line.at.microsecond // 1000:03}Z"
    head = f"{at} {line.level:>5} 6001 --- [orders-service] [{line.thread[-15:]:>15}]"
    return f"{head} {line.logger:<40} : {line.message}\n".encode()


def _json(line: Line) -> bytes:
    record = {
        "@timestamp": f"{line.at:%Y-%m-%dT%H:%M:%S}.{line.at.microsecond // 1000:03}Z",
        "@version": "1",
        "message": line.message,
        "logger_name": line.logger,
        "thread_name": line.thread,
        "level": line.level,
        "level_value": 20000,
    }
    return json.dumps(record).encode() + b"\n"


def _zap(line: Line) -> bytes:
    record = {
        "level": line.level.lower(),
        "ts": line.at.timestamp(),
        "caller": "orders/handler.go:114",
        "msg": line.message,
    }
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _python(line: Line) -> bytes:
    at = f"{line.at:%Y-%m-%d %H:%M:%S},{line.at.microsecond // 1000:03}"
    return f"{at} {line.level} {line.logger.lower()}: {line.message}\n".encode()


def captured(name: str, mark: bytes) -> list[bytes]:
    """The lines of a captured log that contain a mark."""
    text = gzip.decompress((CLIENT_LOGS / name).read_bytes())
    return [line for line in text.splitlines(keepends=True) if mark in line]


def _of_java(line: bytes) -> Line:
    match = _JAVA.fullmatch(line.decode())
    assert match is not None
    at = datetime.fromisoformat(f"{match['at']}+00:00")
    return Line(at, match["level"], "main", match["logger"], match["message"])


def _mixed(others: list[bytes], own: list[bytes], count: int) -> Iterator[bytes]:
    """A line of ``own`` after every ``count`` of the others."""
    other, one = cycle(others), cycle(own)
    return chain.from_iterable(chain(islice(other, count), islice(one, 1)) for _ in cycle([None]))


def _first(lines: Iterable[bytes], size: int) -> bytes:
    text = bytearray()
    for line in lines:
        text += line
        if len(text) >= size:
            break
    return bytes(text)
