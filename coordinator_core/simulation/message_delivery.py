"""Delivers requests from consumers to brokers, and the responses back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

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
from coordinator_core.simulation.channels import Channel
from coordinator_core.simulation.cluster_view import ClusterView
from coordinator_core.simulation.event_queue import Phase
from coordinator_core.simulation.process import SimulatedProcess
from coordinator_core.simulation.random_draws import mixed
from coordinator_core.simulation.simulated_group import SimulatedGroup


@dataclass
class _PendingRequest:
    process: SimulatedProcess
    life: int
    channel: Channel
    request: ClientRequest
    node: int | None


class MessageDelivery:
    """``_pending`` has requests without a response, by request id.

    ``after_response(group, now_ms)`` is called when a response has been delivered.
    """

    def __init__(
        self, cluster: ClusterView, after_response: Callable[[SimulatedGroup, int], None]
    ) -> None:
        self._cluster = cluster
        self._after_response = after_response
        self._pending: dict[str, _PendingRequest] = {}

    def send(
        self, process: SimulatedProcess, request: ClientRequest, node: int | None, now_ms: int
    ) -> None:
        broker_id = self._any_broker(process, now_ms) if node is None else node
        if broker_id is None or not self._cluster.brokers[broker_id].is_up:
            self._refuse(process, request.request_id, node, now_ms)
            return
        key = (broker_id, type(request) not in (FindCoordinator, Metadata))
        channel = process.channels.get(key)
        if channel is None:
            channel = process.channels[key] = Channel(broker_id)
        self._pending[request.request_id] = _PendingRequest(
            process, process.life, channel, request, node
        )
        leaves_ms = max(now_ms, process.cut_until_ms)
        transit = process.network_path.transit(now_ms, channel.sent_ms - (leaves_ms - now_ms))
        if transit.arrives_ms is None or channel.is_broken:
            channel.is_broken = True
            return
        later_ms = leaves_ms - now_ms
        channel.sent_ms = transit.arrives_ms + later_ms
        group_id, number = process.group.name, process.number
        self._cluster.schedule(
            group_id,
            channel.sent_ms,
            Phase.TO_BROKER,
            number,
            lambda at_ms: self._on_request(channel, request, at_ms),
        )
        if transit.copy_ms is not None and key[1]:
            self._cluster.schedule(
                group_id,
                transit.copy_ms + later_ms,
                Phase.TO_BROKER,
                number,
                lambda at_ms: self._on_duplicate(channel, request, at_ms),
            )

    def _any_broker(self, process: SimulatedProcess, now_ms: int) -> int | None:
        up = [broker_id for broker_id, broker in self._cluster.brokers.items() if broker.is_up]
        return up[mixed(process.key, now_ms) % len(up)] if up else None

    def _refuse(
        self, process: SimulatedProcess, request_id: str, node: int | None, now_ms: int
    ) -> None:
        """The connection cannot be made."""
        life = process.life

        def refused(at_ms: int) -> None:
            if life == process.life:
                self._fail(process, request_id, node, at_ms)

        at_ms = max(now_ms, process.cut_until_ms) + process.network_path.longest_ms
        self._cluster.schedule(process.group.name, at_ms, Phase.TO_CLIENT, process.number, refused)

    def _fail(
        self, process: SimulatedProcess, request_id: str, node: int | None, now_ms: int
    ) -> None:
        if node is None:
            process.lost(request_id, now_ms)
        else:
            process.close_channels(node)
            process.disconnected(node, now_ms)

    def _on_request(self, channel: Channel, request: ClientRequest, now_ms: int) -> None:
        if not channel.is_open:
            self._pending.pop(request.request_id, None)
        elif channel.busy_with is not None:
            channel.waiting.append(request)
        else:
            self._process(channel, request, now_ms)

    def _on_duplicate(self, channel: Channel, request: ClientRequest, now_ms: int) -> None:
        """Handle a duplicated request; its response is dropped."""
        broker = self._cluster.brokers[channel.broker_id]
        if broker.is_up and not isinstance(request, FindCoordinator | Metadata):
            self._record_assignment(request)
            broker.handle(request, now_ms)

    def _process(self, channel: Channel, request: ClientRequest, now_ms: int) -> None:
        channel.busy_with = request.request_id
        if isinstance(request, FindCoordinator):
            self.answer(request.request_id, self._coordinator_of(request.group_id), now_ms)
        elif isinstance(request, Metadata):
            self.answer(request.request_id, self._metadata(request, now_ms), now_ms)
        else:
            self._record_assignment(request)
            self._cluster.brokers[channel.broker_id].handle(request, now_ms)

    def _record_assignment(self, request: ClientRequest) -> None:
        if isinstance(request, SyncGroup) and request.assignments:
            self._cluster.groups[request.group_id].truth.sync_assignments = request.assignments

    def _coordinator_of(self, group_id: str) -> FindCoordinatorResponse:
        leader = self._cluster.partitions[self._cluster.groups[group_id].partition].leader
        if leader is None:
            return FindCoordinatorResponse(Errors.COORDINATOR_NOT_AVAILABLE)
        return FindCoordinatorResponse(Errors.NONE, leader)

    def _metadata(self, request: Metadata, now_ms: int) -> MetadataResponse:
        since_ms = now_ms - self._cluster.start_ms
        topics, ids = self._cluster.topics, self._cluster.topic_ids
        by_id = [name for name, id_ in ids.items() if id_ in request.topic_ids]
        existing = [topics[name] for name in (*request.topics, *by_id) if name in topics]
        return MetadataResponse(
            {topic.name: topic.partitions_at(since_ms) for topic in existing},
            {topic.name: ids[topic.name] for topic in existing},
        )

    def answer(self, request_id: str, response: Response | ClientResponse, now_ms: int) -> None:
        pending = self._pending.pop(request_id, None)
        if pending is None:
            return  # The request is a duplicate, or was sent to a broker that stopped.
        process, channel = pending.process, pending.channel
        if self._cluster.tracing is not None:
            self._cluster.tracing.answered(process.name, pending.request, response, now_ms)
        if channel.busy_with == request_id:
            channel.busy_with = None
            self._read_next(process, channel, now_ms)
        if not channel.is_open or pending.life != process.life:
            return
        later_ms = max(process.cut_until_ms - now_ms, 0)
        transit = process.network_path.transit(now_ms, channel.answered_ms - later_ms)
        if transit.arrives_ms is None or channel.is_broken:
            channel.is_broken = True
            return
        channel.answered_ms = transit.arrives_ms + later_ms

        client_response = cast(ClientResponse, response)  # Consumers send no other requests.

        def arrives(at_ms: int) -> None:
            if channel.is_open and pending.life == process.life:
                process.received(request_id, client_response, at_ms)
                self._after_response(self._cluster.groups[process.group.name], at_ms)

        group_id = process.group.name
        self._cluster.schedule(
            group_id, channel.answered_ms, Phase.TO_CLIENT, process.number, arrives
        )

    def _read_next(self, process: SimulatedProcess, channel: Channel, now_ms: int) -> None:
        """The broker reads the connection's next request after it has answered the current request,
        also a request that it received before the client closed the connection.
        """
        if not channel.waiting:
            return
        request = channel.waiting.popleft()

        def read(at_ms: int) -> None:
            # The broker has not stopped since the request was sent.
            if request.request_id in self._pending:
                self._process(channel, request, at_ms)

        self._cluster.schedule(process.group.name, now_ms, Phase.TO_BROKER, process.number, read)

    def break_connections(self, broker_id: int, now_ms: int) -> None:
        """Break every connection to a broker that stopped; its clients are notified."""
        held = [
            pending for pending in self._pending.values() if pending.channel.broker_id == broker_id
        ]
        for pending in held:
            del self._pending[pending.request.request_id]
            if pending.node is None and pending.life == pending.process.life:
                self._refuse(pending.process, pending.request.request_id, None, now_ms)
        for group in self._cluster.groups.values():
            for process in group.processes:
                if any(node == broker_id for node, _ in process.channels):
                    process.close_channels(broker_id)
                    self._refuse(process, "", broker_id, now_ms)
