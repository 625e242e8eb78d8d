"""What comes back: one handler for each kind of request, led by the table of reactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coordinator_core.assignors import AssignorError
from coordinator_core.client.java.heartbeat import HeartbeatThread
from coordinator_core.client.java.member import Future, Member
from coordinator_core.client.java.metadata import ClusterMetadata
from coordinator_core.client.messages import (
    ClientResponse,
    FindCoordinator,
    FindCoordinatorResponse,
    MemberState,
    Metadata,
    MetadataResponse,
)
from coordinator_core.client.reactions import JAVA, Reaction, error_of, reaction
from coordinator_core.client.shell import Generation, InFlight
from coordinator_core.client.subscription import assign, topics_of
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    FetchResponse,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
    SyncGroup,
    SyncResponse,
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


class Answers:
    def __init__(
        self, member: Member, metadata: ClusterMetadata, heartbeat: HeartbeatThread
    ) -> None:
        self.member = member
        self.shell = member.shell
        self.metadata = metadata
        self.heartbeat = heartbeat
        self.to_assign: tuple[JoinResponse, Future, int] | None = None  # waits for metadata
        self.handlers: dict[type, Handler] = {
            FindCoordinator: self._found,
            JoinGroup: self._joined,
            SyncGroup: self._synced,
            Heartbeat: self._beat,
            OffsetCommit: self._committed,
            OffsetFetch: self._fetched,
            LeaveGroup: self._left,
        }

    def take(self, sent: InFlight, response: ClientResponse | None) -> None:
        """None: the connection is lost, or the request timed out."""
        request = sent.request
        if isinstance(request, Metadata):
            known = response if isinstance(response, MetadataResponse) else None
            self.metadata.answered(request, known)
            self._assign_if_waiting()
            return
        error = error_of(response)
        if self.shell.has_lost_coordinator(sent, response):
            self.member.forget_coordinator(connection_is_lost=True)
        self.handlers[type(request)](sent, response, error, reaction(JAVA, request, error))

    def _found(
        self, sent: InFlight, response: FindCoordinatorResponse, error: Errors, what: Reaction
    ) -> None:
        if what is Reaction.RAISE:
            self.member.fatal_find = error
        if what is not Reaction.GO_ON:
            return
        self.shell.measure("find-coordinator", sent.sent_ms)
        self.shell.coordinator = response.node
        self.heartbeat.reset_session()

    def _joined(
        self, sent: InFlight, response: JoinResponse, error: Errors, what: Reaction
    ) -> None:
        shell, member, join = self.shell, self.member, sent.what
        if what is Reaction.GO_ON:
            shell.metrics.joins += 1
            shell.measure("join", sent.sent_ms)
            if shell.state is not MemberState.PREPARING_REBALANCE:
                self._fail_join(join, Errors.UNKNOWN_SERVER_ERROR, Reaction.RETRY)  # it has left
                return
            if response.protocol_type not in (None, PROTOCOL_TYPE):
                self._fail_join(join, Errors.INCONSISTENT_GROUP_PROTOCOL, Reaction.RAISE)
                return
            shell.generation = Generation(
                response.generation, response.member_id, response.protocol_name
            )
            shell.move(MemberState.COMPLETING_REBALANCE)
            self.heartbeat.enable()
            if response.leader == response.member_id:
                self._lead(response, join)
            else:
                self._sync({}, join)
            return
        if what is Reaction.ADOPT:
            shell.generation = Generation(member_id=response.member_id)
            member.request_rejoin(f"need to re-join with the given member-id: {response.member_id}")
        self._reset_if(sent, error, what)
        self._fail_join(join, error, what)

    def _lead(self, joined: JoinResponse, join: Future) -> None:
        """The leader follows all topics of the group from now on, to see them change."""
        try:
            self.metadata.follow(topics_of(joined))
        except BadRecord:
            self._fail_join(join, Errors.UNKNOWN_SERVER_ERROR, Reaction.RAISE)
            return
        self.to_assign = joined, join, self.shell.now_ms
        if not self.metadata.is_wanted:
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
            assignments = assign(self.shell, joined, self.metadata.snapshot)
        except AssignorError:
            self._fail_join(join, Errors.UNKNOWN_SERVER_ERROR, Reaction.RAISE)
            return
        self.shell.measure("assign", start_ms, f"{len(assignments)} members")
        if self.shell.library.leader_refreshes_metadata:
            self.metadata.want()
        self._sync(assignments, join)

    def _sync(self, assignments: dict[str, bytes], join: Future) -> None:
        shell = self.shell
        if shell.coordinator is None:
            self._fail_join(join, Errors.COORDINATOR_NOT_AVAILABLE, Reaction.FIND)
            return
        generation, member_id, protocol = shell.generation
        names = shell.library.names_protocol_in_sync
        request = SyncGroup(
            shell.next_id(),
            shell.config.group_id,
            member_id,
            generation,
            self.member.instance_id,
            PROTOCOL_TYPE if names else None,
            protocol if names else None,
            assignments,
        )
        shell.send(request, shell.coordinator, shell.config.request_timeout_ms, join)

    def _synced(
        self, sent: InFlight, response: SyncResponse, error: Errors, what: Reaction
    ) -> None:
        shell, member, join = self.shell, self.member, sent.what
        if what is not Reaction.GO_ON:
            self._reset_if(sent, error, what)
            self._fail_join(join, error, what)
            return
        shell.metrics.syncs += 1
        shell.measure("sync", sent.sent_ms)
        if member.generation_is_reset or shell.state is not MemberState.COMPLETING_REBALANCE:
            self._fail_join(join, Errors.ILLEGAL_GENERATION, Reaction.REJOIN)
        elif response.protocol_name not in (None, shell.generation.protocol):
            self._fail_join(join, Errors.INCONSISTENT_GROUP_PROTOCOL, Reaction.RAISE)
        else:
            member.rejoin_needed, member.rejoin_reason = False, None
            shell.move(MemberState.STABLE)
            shell.rebalanced(member.rebalance_start_ms or sent.sent_ms)
            member.rebalance_start_ms = None
            join.complete(response.assignment)

    def _beat(self, sent: InFlight, response: Any, error: Errors, what: Reaction) -> None:
        if response is not None:
            self.shell.measure("heartbeat", sent.sent_ms)
        if what is Reaction.GO_ON:
            self.heartbeat.reset_session()
        elif what is Reaction.REJOIN:
            self.heartbeat.reset_session()
            if self.shell.state is MemberState.STABLE:
                self.member.request_rejoin("group is already rebalancing")
        elif what in (Reaction.RETRY, Reaction.FIND):
            if what is Reaction.FIND:
                self.member.forget_coordinator()
            self.heartbeat.failed()
        elif self.shell.generation != sent.sent_as:
            self.heartbeat.reset_session()  # about a generation that is over
        else:
            self._reset_if(sent, error, what)
            if what is Reaction.FENCED:
                self.heartbeat.fatal = error

    def _committed(self, sent: InFlight, response: Any, error: Errors, what: Reaction) -> None:
        shell, member, commit = self.shell, self.member, sent.what
        unchanged = shell.generation == sent.sent_as
        if response is not None:
            shell.measure("commit", sent.sent_ms, error.name)
        if what is Reaction.GO_ON:
            shell.metrics.commits += 1
        elif what is Reaction.FIND:
            member.forget_coordinator()
        elif what is Reaction.REJOIN:
            member.request_rejoin("offset commit failed since group is already rebalancing")
        elif what is Reaction.FENCED:
            member.fenced_commit = member.fenced_commit or unchanged
        elif unchanged or shell.state is not MemberState.PREPARING_REBALANCE:
            self._reset(sent, error, what)
        commit.end(error, what)

    def _fetched(
        self, sent: InFlight, response: FetchResponse, error: Errors, what: Reaction
    ) -> None:
        fetch, wanted = sent.what
        if what is Reaction.GO_ON:
            self.shell.measure("offset-fetch", sent.sent_ms, f"{len(wanted)} partitions")
            for topic, partition, offset, _, _ in response.partitions:
                if (topic, partition) in self.shell.unfetched:
                    self.shell.positions[topic, partition] = max(offset, 0)
                    self.shell.unfetched.discard((topic, partition))
        elif what is Reaction.FIND:
            self.member.forget_coordinator()
        fetch.end(error, what)

    def _left(self, sent: InFlight, response: Any, error: Errors, what: Reaction) -> None:
        """Nobody waits for it but a consumer that closes."""

    def _reset_if(self, sent: InFlight, error: Errors, what: Reaction) -> None:
        """Only if it is still about the generation that we are in; FIND forgets at once."""
        if what is Reaction.FIND:
            self.member.forget_coordinator()
        elif self.shell.generation == sent.sent_as:
            self._reset(sent, error, what)

    def _reset(self, sent: InFlight, error: Errors, what: Reaction) -> None:
        is_fenced_beat = what is Reaction.FENCED and isinstance(sent.request, Heartbeat)
        if what in (Reaction.RESET, Reaction.RENEW) or is_fenced_beat:
            api = API_NAMES[type(sent.request)]
            reason = f"encountered {error.name} from {api} response"
            self.member.reset_and_rejoin(reason, keeps_member_id=what is Reaction.RESET)

    def _fail_join(self, join: Future, error: Errors, what: Reaction) -> None:
        self.shell.metrics.failed_rebalances += 1
        join.end(error, what)
