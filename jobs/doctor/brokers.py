"""Brokers: whether they answer, have `__consumer_offsets`, and can be reached where they say.

Over a plain socket, as there is no Kafka client without a JVM among the dependencies: one Metadata
request (version 4, since Kafka 0.11: the first that does not make a topic it asks for).  What
credentials may do is left to the run itself.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from jobs.command_line.config import Config
from jobs.doctor.finding import Finding, failure, ok, warning
from jobs.sources.kafka import Kafka
from jobs.sources.segments import TOPIC

ANSWER_LIMIT_S = 5.0
LONGEST_ANSWER = 1 << 24
METADATA, VERSION, CORRELATION = 3, 4, 1
UNKNOWN_TOPIC, NOT_AUTHORIZED = 3, 29

Address = tuple[str, int]


@dataclass(frozen=True)
class Metadata:
    """Brokers by id, and of the one topic asked for its error code and partition -> leader (-1:
    none)."""

    brokers: dict[int, Address]
    error: int
    leaders: dict[int, int]


def examine(bootstrap: str, config: Config) -> Iterator[Finding]:
    """``bootstrap``: HOST:PORT, several with commas; UsageError if it is none."""
    addresses = [_address(text) for text in Kafka(bootstrap, config.kafka).bootstrap.split(",")]
    silent = {address: why for address in addresses if (why := _unreachable(address))}
    reached = [address for address in addresses if address not in silent]
    for address, why in silent.items():
        found = f"{_said(address)} does not answer: {why}"
        remedy = "correct --kafka, start the broker, or open the way to it"
        yield (warning if reached else failure)("kafka", found, remedy)
    if not reached:
        return
    protocol = config.kafka.get("security.protocol", "PLAINTEXT").upper()
    if protocol == "PLAINTEXT":
        yield from _topic(reached[0])
    else:
        yield warning(
            "kafka",
            f"{_said(reached[0])} can be reached; what {protocol} asks for is not tried here",
            "the first `regroup nightly --kafka` tells whether these credentials may read",
        )


def _topic(address: Address) -> Iterator[Finding]:
    try:
        metadata = ask(address)
    except (OSError, ValueError, struct.error) as error:
        yield failure(
            "kafka",
            f"{_said(address)} does not speak Kafka's protocol in plain text: {error}",
            "is it a broker's listener of Kafka 0.11 or later?  One that wants TLS or SASL needs "
            "security.protocol and so on under [kafka]",
        )
        return
    if metadata.error == NOT_AUTHORIZED:
        remedy = "let this user DESCRIBE and READ it, or give credentials under [kafka]"
        yield failure("kafka", f"{TOPIC} may not be seen", remedy)
    elif metadata.error == UNKNOWN_TOPIC:
        remedy = "right if no consumer group ever was; else give credentials that see it"
        yield warning("kafka", f"{_said(address)} answers, and has no {TOPIC}", remedy)
    elif metadata.error:
        remedy = "wait until the cluster is up, and try again"
        yield failure("kafka", f"{TOPIC}: error {metadata.error} of Kafka's protocol", remedy)
    else:
        yield from _leaders(address, metadata)


def _leaders(address: Address, metadata: Metadata) -> Iterator[Finding]:
    """Records are read from each partition's leader, at the address that it advertises."""
    leaders = sorted({leader for leader in metadata.leaders.values() if leader in metadata.brokers})
    lost = {leader: _unreachable(metadata.brokers[leader]) for leader in leaders}
    for leader, why in lost.items():
        if why:
            yield failure(
                "kafka",
                f"broker {leader} calls itself {_said(metadata.brokers[leader])}: {why}",
                "correct its advertised.listeners, or run where that name leads to it",
            )
    headless = [p for p, leader in metadata.leaders.items() if leader not in metadata.brokers]
    if headless:
        found = f"{len(headless)} of {len(metadata.leaders)} partitions of {TOPIC} have no leader"
        yield failure("kafka", found, "start the brokers that have them")
    if not headless and not any(lost.values()):
        found = f"{_said(address)} answers, {TOPIC} has {len(metadata.leaders)} partitions"
        yield ok("kafka", f"{found} on {len(leaders)} broker{'s' if len(leaders) > 1 else ''}")


def ask(address: Address) -> Metadata:
    """What a broker knows of the topic.  OSError, ValueError where the answer is none."""
    body = struct.pack(">hhih", METADATA, VERSION, CORRELATION, len(b"regroup")) + b"regroup"
    body += struct.pack(">ih", 1, len(TOPIC)) + TOPIC.encode() + b"\0"  # do not make it
    with socket.create_connection(address, ANSWER_LIMIT_S) as connection:
        connection.sendall(struct.pack(">i", len(body)) + body)
        with connection.makefile("rb") as answer:
            return _metadata(answer.read(_length(answer.read(4))))


def _length(head: bytes) -> int:
    if len(head) < 4:
        raise ValueError("it closed the connection")
    (length,) = struct.unpack(">i", head)
    if not 0 < length <= LONGEST_ANSWER:
        raise ValueError("its answer has no length")
    return int(length)


class _Bytes:
    """An answer's fields, one after another; struct.error at its end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, form: str) -> int:
        (value,) = struct.unpack_from(f">{form}", self._data, self._at)
        self._at += struct.calcsize(f">{form}")
        return int(value)

    def text(self) -> str | None:
        length = self.take("h")
        if length < 0:
            return None
        self._at += length
        return self._data[self._at - length : self._at].decode()


def _metadata(answer: bytes) -> Metadata:
    """Metadata, version 4 (clients/src/main/resources/common/message/MetadataResponse.json)."""
    data = _Bytes(answer)
    if data.take("i") != CORRELATION:
        raise ValueError("it answers another question")
    data.take("i")  # throttled for so long
    brokers: dict[int, Address] = {}
    for _ in range(data.take("i")):
        broker_id = data.take("i")
        brokers[broker_id] = (data.text() or "", data.take("i"))
        data.text()  # rack
    data.text()  # cluster id
    data.take("i")  # controller
    error, leaders = UNKNOWN_TOPIC, {}
    for _ in range(data.take("i")):
        error = data.take("h")
        data.text()
        data.take("b")  # internal
        for _ in range(data.take("i")):
            data.take("h")
            partition = data.take("i")
            leaders[partition] = data.take("i")
            for _ in range(2):  # replicas, those in sync
                for _ in range(data.take("i")):
                    data.take("i")
    return Metadata(brokers, error, leaders)


def _unreachable(address: Address) -> str | None:
    """Why no connection comes about; None where one does."""
    try:
        socket.create_connection(address, ANSWER_LIMIT_S).close()
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
    return None


def _address(text: str) -> Address:
    host, port = text.rsplit(":", 1)
    return host.strip("[]"), int(port)


def _said(address: Address) -> str:
    return f"{address[0]}:{address[1]}"
