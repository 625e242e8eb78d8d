"""Handles responses: one handler per request type, driven by the table LIBRDKAFKA of reactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coordinator_core.assignors import AssignorError
from coordinator_core.client.context import InFlight, MemberGeneration
from coordinator_core.client.librdkafka.group import LibrdkafkaGroup
from coordinator_core.client.librdkafka.heartbeat import LibrdkafkaHeartbeats
from coordinator_core.client.librdkafka.offset_responses import OffsetResponses
from coordinator_core.client.librdkafka.states import WAIT_CALL, ConsumerError, JoinState
from coordinator_core.client.messages import (
    ClientResponse,
    FindCoordinator,
    Metadata,
    MetadataResponse,
)
from coordinator_core.client.reactions import LIBRDKAFKA, Reaction, error_of, reaction_to
from coordinator_core.client.subscription import LastAssignment, assign, assigned, topics_of
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Heartbeat,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
    SyncGroup,
)
from coordinator_core.records import BadRecord

SYNC_GRACE_MS = 3000  # time added to the session timeout of a SyncGroup request
JOIN_BACKOFF_MS = 1000  # time added to the join interval after a failed join
Handler = Callable[[InFlight, Any, Errors, Reaction], None]


class LibrdkafkaResponses:
    def __init__(self, group: LibrdkafkaGroup, heartbeats: LibrdkafkaHeartbeats) -> None:
        self.group = group
        self.context = group.context
        self.heartbeats = heartbeats
        offsets = OffsetResponses(group)
        self.handlers: dict[type, Handler] = {
            FindCoordinator: self._on_find_coordinator,
            JoinGroup: self._on_join,
            SyncGroup: self._on_sync,
            Heartbeat: self._on_heartbeat,
            OffsetCommit: offsets.committed,
            OffsetFetch: offsets.fetched,
            LeaveGroup: self._on_leave,
        }

    def take(self, sent: InFlight, response: ClientResponse | None) -> None:
        """Handle a response; ``response`` is None if the connection was lost or the request timed
        out.

        Handlers get None and BareError, too; the reaction says whether there is a real response.
        """
        context = self.context
        if isinstance(sent.request, Metadata):
            self._on_metadata(sent, response)
            return
        if context.has_lost_coordinator(sent, response):
            context.coordinator = None
        error = error_of(response)
        reaction = reaction_to(LIBRDKAFKA, sent.request, error)
        self.handlers[type(sent.request)](sent, response, error, reaction)

    def _on_find_coordinator(
        self, sent: InFlight, response: Any, error: Errors, reaction: Reaction
    ) -> None:
        if reaction is Reaction.GO_ON:
            self.context.measure("find-coordinator", sent.sent_ms)
            self.context.coordinator = response.node
            self.group.partitions.serve()
        elif reaction is Reaction.RAISE:
            self.group.queue.append(ConsumerError(error, f"FindCoordinator: {error.name}"))

    def _on_metadata(self, sent: InFlight, response: ClientResponse | None) -> None:
        counts = response.partitions if isinstance(response, MetadataResponse) else None
        if counts is not None:
            self.context.measure("metadata", sent.sent_ms)
        if isinstance(sent.attachment, JoinResponse):
            self._lead(sent.attachment, counts, sent.sent_ms)
            return
        if counts is not None:
            self._update_topics(dict(counts))
        elif self.group.join_state is JoinState.WAIT_METADATA and not self.group.to_assign:
            self.group.move(JoinState.INIT)

    def _update_topics(self, counts: dict[str, int]) -> None:
        """Rejoin if the subscribed topics changed; every member does this, not only the leader."""
        group, context = self.group, self.context
        context.partitions = counts
        subscribed = {topic: counts[topic] for topic in context.topics if topic in counts}
        changed, group.subscribed = subscribed != group.subscribed, subscribed
        if group.join_state is JoinState.WAIT_METADATA and not group.to_assign:
            group.join_interval.reset()
            group.move(JoinState.INIT)
        elif changed and context.topics:
            self._topics_changed(set(subscribed))

    def _topics_changed(self, existing: set[str]) -> None:
        group = self.group
        group.to_assign = None
        reason = "Metadata for subscribed topic(s) has changed"
        deleted = [each for each in group.group_assignment or () if each[0] not in existing]
        if not group.is_cooperative:
            group.revoke_all_and_rejoin(reason, is_lost=False)
        elif deleted:
            group.is_lost = True
            group.revoke(deleted, rejoins=False)
        else:
            group.rejoin(reason)

    def _on_join(self, sent: InFlight, response: Any, error: Errors, reaction: Reaction) -> None:
        group, context = self.group, self.context
        group.waits_for_answer = False
        if group.is_terminating or group.join_state is not JoinState.WAIT_JOIN:
            return
        if reaction is not Reaction.GO_ON:
            self._join_failed(response, error, reaction)
            return
        context.metrics.joins += 1
        context.measure("join", sent.sent_ms)
        context.generation = MemberGeneration(
            response.generation, response.member_id, response.protocol_name
        )
        if response.leader == response.member_id:
            self._learn_topics(response)
        else:
            self._sync({})

    def _join_failed(self, response: Any, error: Errors, reaction: Reaction) -> None:
        group = self.group
        group.join_interval.backoff_ms = JOIN_BACKOFF_MS
        if reaction is Reaction.FIND:
            self.group.find_coordinator()
        elif reaction is Reaction.RAISE:
            group.queue.append(ConsumerError(error, f"JoinGroup failed: {error.name}"))
        elif reaction is Reaction.ADOPT:
            group.set_member_id(response.member_id)
            group.join_interval.reset()
        group.forget(error, reaction)
        if group.is_cooperative and reaction in (Reaction.RESET, Reaction.ADOPT):
            group.revoke_all_and_rejoin("JoinGroup error", is_lost=True)
        else:
            group.rejoin(f"JoinGroup error: {error.name}")

    def _learn_topics(self, joined: JoinResponse) -> None:
        """Request metadata of the group's topics; the leader does so before every assignment."""
        group, context = self.group, self.context
        try:
            topics = topics_of(joined)
        except BadRecord:
            group.rejoin("assignor failed")
            return
        group.to_assign = joined
        group.move(JoinState.WAIT_METADATA)
        request = Metadata(context.next_id(), topics)
        context.send(request, None, context.config.request_timeout_ms, joined)

    def _lead(self, joined: JoinResponse, counts: Any, start_ms: int) -> None:
        group, context = self.group, self.context
        if group.to_assign is not joined or group.join_state is not JoinState.WAIT_METADATA:
            return
        group.to_assign = None
        if counts is None:
            group.rejoin("Failed to get cluster metadata")
            return
        try:
            assignments = assign(context, joined, counts)
        except AssignorError:
            group.rejoin("assignor failed")
            return
        context.measure("assign", start_ms, f"{len(assignments)} members")
        self._sync(assignments)

    def _sync(self, assignments: dict[str, bytes]) -> None:
        group, context = self.group, self.context
        if context.coordinator is None:
            group.rejoin("SyncGroup error: no coordinator")
            return
        generation, member_id, _ = context.generation
        request = SyncGroup(
            request_id=context.next_id(),
            group_id=context.config.group_id,
            member_id=member_id,
            generation=generation,
            instance_id=context.config.instance_id,
            assignments=assignments,
        )
        group.waits_for_answer = True
        group.move(JoinState.WAIT_SYNC)
        context.send(request, context.coordinator, context.session_timeout_ms + SYNC_GRACE_MS)

    def _on_sync(self, sent: InFlight, response: Any, error: Errors, reaction: Reaction) -> None:
        group, context = self.group, self.context
        group.waits_for_answer = False
        if group.join_state is not JoinState.WAIT_SYNC:
            return
        if reaction is not Reaction.GO_ON or group.is_terminating:
            self._sync_failed(error, reaction)
            return
        context.metrics.syncs += 1
        context.measure("sync", sent.sent_ms)
        try:
            partitions = assigned(response.assignment) if response.assignment else ()
        except BadRecord:
            group.rejoin("SyncGroup error: Bad message format")
            return
        context.rebalanced(group.rebalance_start_ms or sent.sent_ms)
        group.rebalance_start_ms = None
        group.last_assignment = LastAssignment(partitions, context.generation.generation)
        group.renew_session(revives=True)
        group.take_assignment(partitions)

    def _sync_failed(self, error: Errors, reaction: Reaction) -> None:
        group = self.group
        if reaction is Reaction.FIND:
            self.group.find_coordinator()
        group.forget(error, reaction)
        if group.is_cooperative and reaction in (Reaction.RESET, Reaction.RENEW):
            group.revoke_all_and_rejoin("SyncGroup error", is_lost=True)
        else:
            group.rejoin(f"SyncGroup error: {error.name}")

    def _on_heartbeat(
        self, sent: InFlight, response: Any, error: Errors, reaction: Reaction
    ) -> None:
        group = self.group
        self.heartbeats.is_in_flight = False
        if response is not None:
            self.context.measure("heartbeat", sent.sent_ms)
        if reaction is Reaction.GO_ON:
            group.renew_session(revives=False)
            return
        if group.join_state in (
            JoinState.INIT,
            JoinState.WAIT_JOIN,
            JoinState.WAIT_METADATA,
            JoinState.WAIT_SYNC,
        ):
            return  # the error concerns a previous generation
        if reaction is Reaction.FIND:
            self.group.find_coordinator()
        elif reaction is Reaction.RETRY:
            self.heartbeats.repeat()
        elif reaction is Reaction.REJOIN:
            group.renew_session(revives=False)
            if group.join_state not in WAIT_CALL:
                group.group_is_rebalancing()
        elif reaction in (Reaction.RESET, Reaction.RENEW, Reaction.FENCED):
            group.forget(error, reaction)
            group.revoke_all_and_rejoin_unless_rebalancing(error.name, is_lost=True)

    def _on_leave(self, sent: InFlight, response: Any, error: Errors, reaction: Reaction) -> None:
        self.group.waits_for_leave = False
