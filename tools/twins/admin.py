"""Topics, configurations of groups, and the producer of a play."""

from __future__ import annotations

import signal
import socket
import struct
import time
from collections.abc import Mapping
from contextlib import suppress

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

# The request IncrementalAlterConfigs, and its resource type for groups, which librdkafka lacks.
_ALTER_CONFIGS, _GROUP, _SET = 44, 32, 0
_RECORD_EVERY_S = 0.5


def create_topics(bootstrap: str, topics: Mapping[str, int]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap}, logger=None)
    created = admin.create_topics([NewTopic(name, number, 1) for name, number in topics.items()])
    for each in created.values():
        each.result(30)


def configure_group(bootstrap: str, group: str, values: Mapping[str, str]) -> None:
    """Raises RuntimeError if the broker refuses."""
    configs = b"".join(
        _text(name) + struct.pack(">b", _SET) + _text(value) for name, value in values.items()
    )
    resource = struct.pack(">b", _GROUP) + _text(group) + struct.pack(">i", len(values)) + configs
    header = struct.pack(">hhi", _ALTER_CONFIGS, 0, 1) + _text("twins")
    request = header + struct.pack(">i", 1) + resource + b"\x00"
    host, _, port = bootstrap.partition(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        response = connection.makefile("rb")
        (size,) = struct.unpack(">i", response.read(4))
        answer = response.read(size)
    # The answer has correlation id, throttle time and number of responses before the error code.
    (error,) = struct.unpack(">h", answer[12:14])
    if error:
        raise RuntimeError(f"group {group}: the broker refuses {dict(values)}: error {error}")


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def produce(bootstrap: str, topics: Mapping[str, int]) -> None:
    """One record per topic every half second, until SIGTERM."""
    stops: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stops.append(number))
    producer = Producer({"bootstrap.servers": bootstrap}, logger=None)
    count = 0
    while not stops:
        for topic, number in topics.items():
            with suppress(BufferError):
                producer.produce(topic, b"x", partition=count % number)
        producer.poll(0)
        count += 1
        time.sleep(_RECORD_EVERY_S)
    producer.flush(2)
