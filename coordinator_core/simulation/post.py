"""Requests and answers on their way between consumers and brokers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from coordinator_core.client import (
    ClientRequest,
    ClientResponse,
    FindCoordinator,
    FindCoordinatorResponse,
    Metadata,
    MetadataResponse,
)
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Response, SyncGroup
from coordinator_core.simulation.agenda import Phase
from coordinator_core.simulation.chance import mixed
from coordinator_core.simulation.channels import Channel
from coordinator_core.simulation.process import Process

if TYPE_CHECKING:
    from coordinator_core.simulation.world import World


@dataclass
class _Asked:
    process: Process
    life: int
    channel: Channel
    request: ClientRequest
    node: int | None


class Post:
    """``_asked``: what was sent and not answered yet, by request id."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._asked: dict[str, _Asked] = {}

    def send(self, process: Process, request: ClientRequest, node: int | None, now_ms: int) -> None:
        broker_id = self._any_broker(process, now_ms) if node is None else node
        if broker_id is None or not self._world.brokers[broker_id].is_up:
            self._refuse(process, request.request_id, node, now_ms)
            return
        key = (broker_id, type(request) not in (FindCoordinator, Metadata))
        channel = process.channels.get(key)
        if channel is None:
            channel = process.channels[key] = Channel(broker_id)
        self._asked[request.request_id] = _Asked(process, process.life, channel, request, node)
        leaves_ms = max(now_ms, process.cut_until_ms)
        transit = process.wire.transit(now_ms, channel.sent_ms - (leaves_ms - now_ms))
        if transit.arrives_ms is None or channel.is_broken:
            channel.is_broken = True
            return
        later_ms = leaves_ms - now_ms
        channel.sent_ms = transit.arrives_ms + later_ms
        group_id, number = process.group.name, process.number
        self._world.note(
            group_id,
            channel.sent_ms,
            Phase.TO_BROKER,
            number,
            lambda at_ms: self._arrived(channel, request, at_ms),
        )
        if transit.copy_ms is not None and key[1]:
            self._world.note(
                group_id,
                transit.copy_ms + later_ms,
                Phase.TO_BROKER,
                number,
                lambda at_ms: self._copy_arrived(channel, request, at_ms),
            )

    def _any_broker(self, process: Process, now_ms: int) -> int | None:
        up = [broker_id for broker_id, broker in self._world.brokers.items() if broker.is_up]
        return up[mixed(process.key, now_ms) % len(up)] if up else None

    def _refuse(self, process: Process, request_id: str, node: int | None, now_ms: int) -> None:
        """There is nobody to connect to."""
        life = process.life

        def refused(at_ms: int) -> None:
            if life == process.life:
                self._fail(process, request_id, node, at_ms)

        at_ms = max(now_ms, process.cut_until_ms) + process.wire.longest_ms
        self._world.note(process.group.name, at_ms, Phase.TO_CLIENT, process.number, refused)

    def _fail(self, process: Process, request_id: str, node: int | None, now_ms: int) -> None:
        if node is None:
            process.lost(request_id, now_ms)
        else:
            process.close_channels(node)
            process.disconnected(node, now_ms)

    def _arrived(self, channel: Channel, request: ClientRequest, now_ms: int) -> None:
        if not channel.is_open:
            self._asked.pop(request.request_id, None)
        elif channel.busy_with is not None:
            channel.waiting.append(request)
        else:
            self._work(channel, request, now_ms)

    def _copy_arrived(self, channel: Channel, request: ClientRequest, now_ms: int) -> None:
        """Nobody waits for the answer to a copy."""
        broker = self._world.brokers[channel.broker_id]
        if broker.is_up and not isinstance(request, FindCoordinator | Metadata):
            self._note_assignment(request)
            broker.take(request, now_ms)

    def _work(self, channel: Channel, request: ClientRequest, now_ms: int) -> None:
        channel.busy_with = request.request_id
        if isinstance(request, FindCoordinator):
            self.answer(request.request_id, self._coordinator_of(request.group_id), now_ms)
        elif isinstance(request, Metadata):
            self.answer(request.request_id, self._metadata(request, now_ms), now_ms)
        else:
            self._note_assignment(request)
            self._world.brokers[channel.broker_id].take(request, now_ms)

    def _note_assignment(self, request: ClientRequest) -> None:
        if isinstance(request, SyncGroup) and request.assignments:
            self._world.groups[request.group_id].truth.given = request.assignments

    def _coordinator_of(self, group_id: str) -> FindCoordinatorResponse:
        leader = self._world.partitions[self._world.groups[group_id].partition].leader
        if leader is None:
            return FindCoordinatorResponse(Errors.COORDINATOR_NOT_AVAILABLE)
        return FindCoordinatorResponse(Errors.NONE, leader)

    def _metadata(self, request: Metadata, now_ms: int) -> MetadataResponse:
        since_ms = now_ms - self._world.start_ms
        known = [
            self._world.topics[topic] for topic in request.topics if topic in self._world.topics
        ]
        return MetadataResponse({topic.name: topic.partitions_at(since_ms) for topic in known})

    def answer(self, request_id: str, response: Response | ClientResponse, now_ms: int) -> None:
        asked = self._asked.pop(request_id, None)
        if asked is None:
            return  # a copy's, or one that a stopped broker had
        process, channel = asked.process, asked.channel
        if self._world.tracing is not None:
            self._world.tracing.answered(process.name, asked.request, response, now_ms)
        if channel.busy_with == request_id:
            channel.busy_with = None
            self._read_on(process, channel, now_ms)
        if not channel.is_open or asked.life != process.life:
            return
        later_ms = max(process.cut_until_ms - now_ms, 0)
        transit = process.wire.transit(now_ms, channel.answered_ms - later_ms)
        if transit.arrives_ms is None or channel.is_broken:
            channel.is_broken = True
            return
        channel.answered_ms = transit.arrives_ms + later_ms

        answered = cast(ClientResponse, response)  # consumers ask for nothing else

        def arrives(at_ms: int) -> None:
            if channel.is_open and asked.life == process.life:
                process.received(request_id, answered, at_ms)
                if self._world.idle is not None:
                    self._world.idle.consider(self._world.groups[process.group.name], at_ms)

        group_id = process.group.name
        self._world.note(group_id, channel.answered_ms, Phase.TO_CLIENT, process.number, arrives)

    def _read_on(self, process: Process, channel: Channel, now_ms: int) -> None:
        """The broker reads the connection's next request, once it is through with this one."""
        if not channel.waiting:
            return
        request = channel.waiting.popleft()
        self._world.note(
            process.group.name,
            now_ms,
            Phase.TO_BROKER,
            process.number,
            lambda at_ms: self._arrived(channel, request, at_ms),
        )

    def cut_off(self, broker_id: int, now_ms: int) -> None:
        """A broker stopped: every connection to it breaks, and clients see it."""
        held = [asked for asked in self._asked.values() if asked.channel.broker_id == broker_id]
        for asked in held:
            del self._asked[asked.request.request_id]
            if asked.node is None and asked.life == asked.process.life:
                self._refuse(asked.process, asked.request.request_id, None, now_ms)
        for group in self._world.groups.values():
            for process in group.processes:
                if any(node == broker_id for node, _ in process.channels):
                    process.close_channels(broker_id)
                    self._refuse(process, "", broker_id, now_ms)
