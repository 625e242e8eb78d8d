"""Handles responses: one handler per request type, driven by the table JAVA of reactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coordinator_core.assignors import AssignorError
from coordinator_core.client.context import InFlight, MemberGeneration
from coordinator_core.client.java.heartbeat import HeartbeatThread
from coordinator_core.client.java.member import Future, JavaMember
from coordinator_core.client.java.metadata import ClusterMetadata
from coordinator_core.client.messages import (
    ClientResponse,
    FindCoordinator,
    MemberState,
    Metadata,
    MetadataResponse,
)
from coordinator_core.client.reactions import JAVA, Reaction, error_of, reaction_to
from coordinator_core.client.subscription import assign, topics_of
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

PROTOCOL_TYPE = "consumer"
API_NAMES = {
    JoinGroup: "JOIN_GROUP",
    SyncGroup: "SYNC_GROUP",
    Heartbeat: "HEARTBEAT",
    OffsetCommit: "OFFSET_COMMIT",
}
Handler = Callable[[InFlight, Any, Errors, Reaction], None]


class JavaResponses:
    def __init__(
        self, member: JavaMember, metadata: ClusterMetadata, heartbeat: HeartbeatThread
    ) -> None:
        self.member = member
        self.context = member.context
        self.metadata = metadata
        self.heartbeat = heartbeat
        self.to_assign: tuple[JoinResponse, Future, int] | None = None  # waits for metadata
        self.handlers: dict[type, Handler] = {
            FindCoordinator: self._on_find_coordinator,
            JoinGroup: self._on_join,
            SyncGroup: self._on_sync,
            Heartbeat: self._on_heartbeat,
            OffsetCommit: self._on_commit,
            OffsetFetch: self._on_fetch,
            LeaveGroup: self._on_leave,
        }

    def take(self, sent: InFlight, response: ClientResponse | None) -> None:
        """Handle a response; ``response`` is None if the connection was lost or the request timed
        out.

        Handlers get None and BareError, too; the reaction says whether there is a real response.
        """
        request = sent.request
        if isinstance(request, Metadata):
            self.metadata.answered(
                request, response if isinstance(response, MetadataResponse) else None
            )
            self._assign_if_waiting()
            return
        error = error_of(response)
        if self.context.has_lost_coordinator(sent, response):
            self.member.forget_coordinator(connection_is_lost=True)
        self.handlers[type(request)](sent, response, error, reaction_to(JAVA, request, error))

    def _on_find_coordinator(
        self, sent: InFlight, response: Any, error: Errors, reaction: Reaction
    ) -> None:
        if reaction is Reaction.RAISE:
            self.member.fatal_find = error
        if reaction is not Reaction.GO_ON:
            return
        self.context.measure("find-coordinator", sent.sent_ms)
        self.context.coordinator = response.node
        self.heartbeat.reset_session()

    def _on_join(self, sent: InFlight, response: Any, error: Errors, reaction: Reaction) -> None:
        context, member, join = self.context, self.member, sent.attachment
        if reaction is Reaction.GO_ON:
            context.metrics.joins += 1
            context.measure("join", sent.sent_ms)
            if context.state is not MemberState.PREPARING_REBALANCE:
                # the member left in the meantime
                join.end(Errors.UNKNOWN_SERVER_ERROR, Reaction.RETRY)
                return
            if response.protocol_type not in (None, PROTOCOL_TYPE):
                join.end(Errors.INCONSISTENT_GROUP_PROTOCOL, Reaction.RAISE)
                return
            context.generation = MemberGeneration(
                response.generation, response.member_id, response.protocol_name
            )
            context.move(MemberState.COMPLETING_REBALANCE)
            self.heartbeat.enable()
            if response.leader == response.member_id:
                self._lead(response, join)
            else:
                self._sync({}, join)
            return
        if reaction is Reaction.ADOPT:
            context.generation = MemberGeneration(member_id=response.member_id)
            member.request_rejoin(f"need to re-join with the given member-id: {response.member_id}")
        self._reset_if(sent, error, reaction)
        join.end(error, reaction)

    def _lead(self, joined: JoinResponse, join: Future) -> None:
        """From now on the leader watches all topics of the group for changes."""
        try:
            self.metadata.follow(topics_of(joined))
        except BadRecord:
            join.end(Errors.UNKNOWN_SERVER_ERROR, Reaction.RAISE)
            return
        self.to_assign = joined, join, self.context.now_ms
        if not self.metadata.update_requested:
            self._assign_if_waiting()

    def _assign_if_waiting(self) -> None:
        if self.to_assign is None:
            return
        joined, join, start_ms = self.to_assign
        self.to_assign = None
        if join is not self.member.join or join.is_done:
            return
        self.metadata.assigned = self.metadata.snapshot
        if joined.skip_assignment:
            self._sync({}, join)
            return
        try:
            assignments = assign(self.context, joined, self.metadata.snapshot)
        except AssignorError:
            join.end(Errors.UNKNOWN_SERVER_ERROR, Reaction.RAISE)
            return
        self.context.measure("assign", start_ms, f"{len(assignments)} members")
        if self.context.library.leader_refreshes_metadata:
            self.metadata.request_update()
        self._sync(assignments, join)

    def _sync(self, assignments: dict[str, bytes], join: Future) -> None:
        context = self.context
        if context.coordinator is None:
            join.end(Errors.COORDINATOR_NOT_AVAILABLE, Reaction.FIND)
            return
        generation, member_id, protocol = context.generation
        names = context.library.names_protocol_in_sync
        request = SyncGroup(
            request_id=context.next_id(),
            group_id=context.config.group_id,
            member_id=member_id,
            generation=generation,
            instance_id=self.member.instance_id,
            protocol_type=PROTOCOL_TYPE if names else None,
            protocol_name=protocol if names else None,
            assignments=assignments,
        )
        context.send(request, context.coordinator, context.config.request_timeout_ms, join)

    def _on_sync(self, sent: InFlight, response: Any, error: Errors, reaction: Reaction) -> None:
        context, member, join = self.context, self.member, sent.attachment
        if reaction is not Reaction.GO_ON:
            self._reset_if(sent, error, reaction)
            join.end(error, reaction)
            return
        context.metrics.syncs += 1
        context.measure("sync", sent.sent_ms)
        if member.generation_is_reset or context.state is not MemberState.COMPLETING_REBALANCE:
            join.end(Errors.ILLEGAL_GENERATION, Reaction.REJOIN)
        elif response.protocol_name not in (None, context.generation.protocol):
            join.end(Errors.INCONSISTENT_GROUP_PROTOCOL, Reaction.RAISE)
        else:
            member.rejoin_needed, member.rejoin_reason = False, None
            context.move(MemberState.STABLE)
            context.rebalanced(member.rebalance_start_ms or sent.sent_ms)
            member.rebalance_start_ms = None
            join.complete(response.assignment)

    def _on_heartbeat(
        self, sent: InFlight, response: Any, error: Errors, reaction: Reaction
    ) -> None:
        if response is not None:
            self.context.measure("heartbeat", sent.sent_ms)
        if reaction is Reaction.GO_ON:
            self.heartbeat.reset_session()
        elif reaction is Reaction.REJOIN:
            self.heartbeat.reset_session()
            if self.context.state is MemberState.STABLE:
                self.member.request_rejoin("group is already rebalancing")
        elif reaction in (Reaction.RETRY, Reaction.FIND):
            if reaction is Reaction.FIND:
                self.member.forget_coordinator()
            self.heartbeat.failed()
        elif self.context.generation != sent.sent_as:
            self.heartbeat.reset_session()  # the error concerns a previous generation
        else:
            self._reset_if(sent, error, reaction)
            if reaction is Reaction.FENCED:
                self.heartbeat.fatal = error

    def _on_commit(self, sent: InFlight, response: Any, error: Errors, reaction: Reaction) -> None:
        context, member, commit = self.context, self.member, sent.attachment
        unchanged = context.generation == sent.sent_as
        if response is not None:
            context.measure("commit", sent.sent_ms, error.name)
        if reaction is Reaction.GO_ON:
            context.metrics.commits += 1
        elif reaction is Reaction.FIND:
            member.forget_coordinator()
        elif reaction is Reaction.REJOIN:
            member.request_rejoin("offset commit failed since group is already rebalancing")
        elif reaction is Reaction.FENCED:
            member.fenced_commit = member.fenced_commit or unchanged
        elif unchanged or context.state is not MemberState.PREPARING_REBALANCE:
            self._reset(sent, error, reaction)
        commit.end(error, reaction)

    def _on_fetch(self, sent: InFlight, response: Any, error: Errors, reaction: Reaction) -> None:
        fetch, requested = sent.attachment
        if reaction is Reaction.GO_ON:
            self.context.measure("offset-fetch", sent.sent_ms, f"{len(requested)} partitions")
            for topic, partition, offset, _, _ in response.partitions:
                if (topic, partition) in self.context.unfetched:
                    self.context.positions[topic, partition] = max(offset, 0)
                    self.context.unfetched.discard((topic, partition))
        elif reaction is Reaction.FIND:
            self.member.forget_coordinator()
        fetch.end(error, reaction)

    def _on_leave(self, sent: InFlight, response: Any, error: Errors, reaction: Reaction) -> None:
        """Do nothing, because a closing consumer only waits for the response."""

    def _reset_if(self, sent: InFlight, error: Errors, reaction: Reaction) -> None:
        """Reset the member if the request belongs to the current generation; FIND always
        applies.
        """
        if reaction is Reaction.FIND:
            self.member.forget_coordinator()
        elif self.context.generation == sent.sent_as:
            self._reset(sent, error, reaction)

    def _reset(self, sent: InFlight, error: Errors, reaction: Reaction) -> None:
        is_fenced_heartbeat = reaction is Reaction.FENCED and isinstance(sent.request, Heartbeat)
        if reaction in (Reaction.RESET, Reaction.RENEW) or is_fenced_heartbeat:
            api = API_NAMES[type(sent.request)]
            reason = f"encountered {error.name} from {api} response"
            self.member.reset_and_rejoin(reason, keeps_member_id=reaction is Reaction.RESET)
