"""One consumer process (librdkafka): consumes until SIGTERM, and writes its callbacks.

Between SIGUSR1 and SIGUSR2 it does not poll.  A process whose client reports a fatal error exits
with the code FATAL.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import confluent_kafka

FATAL = 3
POLL_S = 0.25
_TICK_S = 0.02


class Client:
    """``handled``: a folder for the time, partition and offset of each record; None: no file."""

    def __init__(self, name: str, group: str, out: Path, handled: Path | None = None) -> None:
        self._own = {"client": name, "group": group, "pid": os.getpid()}
        self._handled = handled
        self._out = open(out, "a", buffering=1)  # noqa: SIM115
        self._stops = self._is_slow = False

    def note(self, what: str, **fields: Any) -> None:
        line = {"wall_ms": int(time.time() * 1000), **self._own, "what": what, **fields}
        self._out.write(json.dumps(line) + "\n")

    def run(self, bootstrap: str, topics: Sequence[str], settings: Mapping[str, Any]) -> int:
        """The exit code."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGUSR1, self._slow)
        signal.signal(signal.SIGUSR2, self._slow)
        name, group = self._own["client"], self._own["group"]
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": bootstrap, "group.id": group, "client.id": name, **settings},
            logger=None,
        )
        consumer.subscribe(
            list(topics),
            on_assign=lambda c, partitions: self._called("assigned", c, partitions),
            on_revoke=lambda c, partitions: self._called("revoked", c, partitions),
            on_lost=lambda c, partitions: self._called("lost", c, partitions),
        )
        library = f"confluent-kafka {confluent_kafka.__version__} librdkafka"
        self.note("started", library=f"{library} {confluent_kafka.libversion()[0]}", conf=settings)
        handled = self._handled_file()
        while not self._stops:
            if self._is_slow:
                time.sleep(_TICK_S)
                continue
            message = consumer.poll(POLL_S)
            error = None if message is None else message.error()
            if error is not None:
                self.note("error", error=str(error))
                if error.code() == confluent_kafka.KafkaError._FATAL:
                    self.note("fatal, exits")
                    return FATAL
            elif message is not None and handled is not None:
                at_ms = int(time.time() * 1000)
                handled.write(f"{at_ms} {message.partition()} {message.offset()}\n")
        self.note("closing")
        consumer.close()
        self.note("closed")
        return 0

    def _handled_file(self) -> TextIO | None:
        if self._handled is None:
            return None
        name = "{group}.{client}.{pid}".format(**self._own)
        return open(self._handled / name, "w", buffering=1)

    def _stop(self, *_: Any) -> None:
        self._stops = True

    def _slow(self, number: int, _: Any) -> None:
        self._is_slow = number == signal.SIGUSR1

    def _called(self, what: str, consumer: Any, partitions: Sequence[Any]) -> None:
        named = sorted([each.topic, each.partition] for each in partitions)
        self.note(what, partitions=named, member=consumer.memberid())
