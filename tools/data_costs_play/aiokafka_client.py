"""A consumer process with aiokafka: `python -m tools.data_costs_play.aiokafka_client JSON`.

Mode auto: the library commits what it gave out.  The handler waits with asyncio.sleep, so
heartbeats go on while it is slow.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

import aiokafka
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from tools.data_costs_play.handler import Handler

POLL_MS = 200
BATCH = 20
ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


class Client(ConsumerRebalanceListener):
    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def run(self) -> None:
        handler = self._handler
        conf = dict(handler.conf)
        assignor = ASSIGNORS[conf.pop("assignor")]
        consumer = AIOKafkaConsumer(
            bootstrap_servers=handler.bootstrap,
            group_id=handler.group,
            client_id=handler.process,
            auto_offset_reset="earliest",
            partition_assignment_strategy=[assignor],
            **conf,
        )
        library = f"aiokafka {aiokafka.__version__}"
        handler.note("started", library=library, mode=handler.mode, conf=handler.conf)
        consumer.subscribe([handler.topic], listener=self)
        await consumer.start()
        while not handler.stops:
            if seconds := handler.slow_s():
                handler.note("slow", seconds=seconds)
                await asyncio.sleep(seconds)
                handler.note("slow over")
            batch = await consumer.getmany(timeout_ms=POLL_MS, max_records=BATCH)
            for partition, records in batch.items():
                for record in records:
                    handler.begin(partition.partition, record.offset, record.value)
                    await asyncio.sleep(handler.delay_s())
                    handler.end(partition.partition, record.offset)
        handler.note("closing", handled=handler.handled)
        await consumer.stop()
        handler.note("closed")

    async def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        self._note("assigned", assigned)

    async def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        self._note("revoked", revoked)

    def _note(self, what: str, partitions: Iterable[Any]) -> None:
        self._handler.note(what, partitions=sorted(each.partition for each in partitions))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    asyncio.run(Client(Handler()).run())
