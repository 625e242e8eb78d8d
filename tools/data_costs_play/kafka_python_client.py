"""A consumer process with kafka-python: `python -m tools.data_costs_play.kafka_python_client JSON`.

Modes: auto (the library commits what it gave out), batch (a commit per batch).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import kafka
from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from tools.data_costs_play.handler import Handler

POLL_MS = 200
BATCH = 20


class Client(ConsumerRebalanceListener):
    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._owned: set[int] = set()
        self._paused: set[int] = set()
        self._consumer = KafkaConsumer(
            bootstrap_servers=handler.bootstrap,
            group_id=handler.group,
            client_id=handler.process,
            auto_offset_reset="earliest",
            max_poll_records=BATCH,
            **handler.conf,
        )

    def run(self) -> None:
        handler = self._handler
        library = f"kafka-python {kafka.__version__}"
        handler.note("started", library=library, mode=handler.mode, conf=handler.conf)
        self._consumer.subscribe([handler.topic], listener=self)
        while not handler.stops:
            handler.sleep_if_slow()
            self._pause()
            batch = self._consumer.poll(POLL_MS)
            for partition, records in batch.items():
                for record in records:
                    handler.handle(partition.partition, record.offset, record.value)
            if batch and handler.mode == "batch":
                self._commit()
        handler.note("closing", handled=handler.handled)
        self._consumer.close()
        handler.note("closed")

    def _commit(self) -> None:
        try:
            self._consumer.commit()
        except KafkaError as error:
            self._handler.note("commit failed", error=str(error))

    def _pause(self) -> None:
        pause, resume = self._handler.to_pause(self._owned, self._paused)
        for numbers, action, what in (
            (pause, self._consumer.pause, "pause"),
            (resume, self._consumer.resume, "resume"),
        ):
            if numbers:
                action(*(TopicPartition(self._handler.topic, number) for number in numbers))
                self._handler.note(what, partitions=numbers)
        self._paused = (self._paused | set(pause)) - set(resume)

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        numbers = sorted(each.partition for each in assigned)
        self._handler.note("assigned", partitions=numbers)
        self._owned |= set(numbers)

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        self._end("revoked", revoked)

    def on_partitions_lost(self, lost: Iterable[Any]) -> None:
        self._end("lost", lost)

    def _end(self, what: str, partitions: Iterable[Any]) -> None:
        numbers = sorted(each.partition for each in partitions)
        self._handler.note(what, partitions=numbers)
        self._owned -= set(numbers)
        self._paused -= set(numbers)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    Client(Handler()).run()
