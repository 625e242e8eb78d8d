"""A consumer process with confluent-kafka: `python -m tools.data_costs_play.confluent_client JSON`.

Modes: auto (the library commits what it gave out), store (the library commits what was handled),
batch (a commit per batch), periodic (a commit each `commit_s` seconds, and when partitions are
revoked).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer, KafkaException, TopicPartition

from tools.data_costs_play.handler import Handler

POLL_S = 0.2
BATCH = 20


class Client:
    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._owned: set[int] = set()
        self._paused: set[int] = set()
        conf = {
            "bootstrap.servers": handler.bootstrap,
            "group.id": handler.group,
            "client.id": handler.process,
            "auto.offset.reset": "earliest",
            **handler.conf,
        }
        if handler.own["static"]:
            conf["group.instance.id"] = handler.process
        self._commit_s = float(conf.pop("commit_s", 0))
        self._committed_s = time.monotonic()
        self._consumer = Consumer(conf)

    def run(self) -> None:
        handler = self._handler
        library = f"confluent-kafka {confluent_kafka.__version__} librdkafka"
        handler.note(
            "started",
            library=f"{library} {confluent_kafka.libversion()[0]}",
            mode=handler.mode,
            conf=handler.conf,
        )
        self._consumer.subscribe(
            [handler.topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )
        while not handler.stops:
            handler.sleep_if_slow()
            self._pause()
            if handler.mode == "batch":
                self._take(self._consumer.consume(BATCH, POLL_S))
            else:
                message = self._consumer.poll(POLL_S)
                self._take([] if message is None else [message])
            due_s = self._committed_s + self._commit_s
            if handler.mode == "periodic" and time.monotonic() > due_s:
                self._committed_s = time.monotonic()
                self._commit("periodic commit")
        handler.note("closing", handled=handler.handled)
        self._consumer.close()
        handler.note("closed")

    def _take(self, messages: Sequence[Any]) -> None:
        handler, taken = self._handler, 0
        for message in messages:
            if message.error() is not None:
                handler.note("error", error=str(message.error()))
                continue
            handler.handle(message.partition(), message.offset(), message.value())
            taken += 1
            if handler.mode == "store" and message.partition() in self._owned:
                self._consumer.store_offsets(message)
        if taken and handler.mode == "batch":
            self._commit(None)

    def _commit(self, what: str | None) -> None:
        """``what``: noted after the commit."""
        try:
            self._consumer.commit(asynchronous=False)
        except KafkaException as error:
            self._handler.note("commit failed", error=str(error))
        else:
            if what:
                self._handler.note(what)

    def _pause(self) -> None:
        pause, resume = self._handler.to_pause(self._owned, self._paused)
        for numbers, action, what in (
            (pause, self._consumer.pause, "pause"),
            (resume, self._consumer.resume, "resume"),
        ):
            if numbers:
                action([TopicPartition(self._handler.topic, number) for number in numbers])
                self._handler.note(what, partitions=numbers)
        self._paused = (self._paused | set(pause)) - set(resume)

    def _assigned(self, consumer: Any, partitions: Sequence[Any]) -> None:
        numbers = sorted(each.partition for each in partitions)
        self._handler.note("assigned", partitions=numbers, member=consumer.memberid())
        self._owned |= set(numbers)

    def _revoked(self, _: Any, partitions: Sequence[Any]) -> None:
        if self._handler.mode == "periodic" and partitions:
            self._commit("commit on revoke")
        self._end("revoked", partitions)

    def _lost(self, _: Any, partitions: Sequence[Any]) -> None:
        self._end("lost", partitions)

    def _end(self, what: str, partitions: Sequence[Any]) -> None:
        numbers = sorted(each.partition for each in partitions)
        self._handler.note(what, partitions=numbers)
        self._owned -= set(numbers)
        self._paused -= set(numbers)


if __name__ == "__main__":
    Client(Handler()).run()
