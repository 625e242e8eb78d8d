"""What comes back: one handler for each kind of request, led by the table of reactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coordinator_core.assignors import AssignorError
from coordinator_core.client.librdkafka.group import Group
from coordinator_core.client.librdkafka.heartbeat import Heartbeats
from coordinator_core.client.librdkafka.offset_answers import OffsetAnswers
from coordinator_core.client.librdkafka.states import WAIT_CALL, JoinState, Problem
from coordinator_core.client.messages import (
    ClientResponse,
    FindCoordinator,
    FindCoordinatorResponse,
    Metadata,
    MetadataResponse,
)
from coordinator_core.client.reactions import LIBRDKAFKA, Reaction, error_of, reaction
from coordinator_core.client.shell import Generation, InFlight
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
    SyncResponse,
)
from coordinator_core.records import BadRecord

SYNC_GRACE_MS = 3000  # what a sync may take beyond the session timeout
JOIN_BACKOFF_MS = 1000  # after an error, beside the join interval
Handler = Callable[[InFlight, Any, Errors, Reaction], None]


class Answers:
    def __init__(self, group: Group, heartbeats: Heartbeats) -> None:
        self.group = group
        self.shell = group.shell
        self.heartbeats = heartbeats
        offsets = OffsetAnswers(group)
        self.handlers: dict[type, Handler] = {
            FindCoordinator: self._found,
            JoinGroup: self._joined,
            SyncGroup: self._synced,
            Heartbeat: self._beat,
            OffsetCommit: offsets.committed,
            OffsetFetch: offsets.fetched,
            LeaveGroup: self._left,
        }

    def take(self, sent: InFlight, response: ClientResponse | None) -> None:
        """None: the connection is lost, or the request timed out."""
        shell = self.shell
        if isinstance(sent.request, Metadata):
            self._described(sent, response)
            return
        if shell.has_lost_coordinator(sent, response):
            shell.coordinator = None
        error = error_of(response)
        what = reaction(LIBRDKAFKA, sent.request, error)
        self.handlers[type(sent.request)](sent, response, error, what)

    def _found(
        self, sent: InFlight, response: FindCoordinatorResponse, error: Errors, what: Reaction
    ) -> None:
        if what is Reaction.GO_ON:
            self.shell.measure("find-coordinator", sent.sent_ms)
            self.shell.coordinator = response.node
            self.group.partitions.serve()
        elif what is Reaction.RAISE:
            self.group.queue.append(Problem(error, f"FindCoordinator: {error.name}"))

    def _described(self, sent: InFlight, response: ClientResponse | None) -> None:
        known = response.partitions if isinstance(response, MetadataResponse) else None
        if known is not None:
            self.shell.measure("metadata", sent.sent_ms)
        if isinstance(sent.what, JoinResponse):
            self._lead(sent.what, known, sent.sent_ms)
            return
        if known is not None:
            self._look_at_topics(dict(known))
        elif self.group.join_state is JoinState.WAIT_METADATA and not self.group.to_assign:
            self.group.move(JoinState.INIT)

    def _look_at_topics(self, known: dict[str, int]) -> None:
        """Any member rejoins when the topics it follows have changed, not the leader alone."""
        group, shell = self.group, self.shell
        shell.partitions = known
        subscribed = {topic: known[topic] for topic in shell.topics if topic in known}
        changed, group.subscribed = subscribed != group.subscribed, subscribed
        if group.join_state is JoinState.WAIT_METADATA and not group.to_assign:
            group.join_interval.reset()
            group.move(JoinState.INIT)
        elif changed and shell.topics:
            self._topics_changed(set(subscribed))

    def _topics_changed(self, existing: set[str]) -> None:
        group = self.group
        group.to_assign = None
        reason = "Metadata for subscribed topic(s) has changed"
        gone = [each for each in group.given or () if each[0] not in existing]
        if not group.is_cooperative:
            group.revoke_all_and_rejoin(reason, is_lost=False)
        elif gone:
            group.is_lost = True
            group.revoke(gone, rejoins=False)
        else:
            group.rejoin(reason)

    def _joined(
        self, sent: InFlight, response: JoinResponse, error: Errors, what: Reaction
    ) -> None:
        group, shell = self.group, self.shell
        group.waits_for_answer = False
        if group.is_terminating or group.join_state is not JoinState.WAIT_JOIN:
            return
        if what is not Reaction.GO_ON:
            self._join_failed(response, error, what)
            return
        shell.metrics.joins += 1
        shell.measure("join", sent.sent_ms)
        shell.generation = Generation(
            response.generation, response.member_id, response.protocol_name
        )
        if response.leader == response.member_id:
            self._learn_topics(response)
        else:
            self._sync({})

    def _join_failed(self, response: JoinResponse, error: Errors, what: Reaction) -> None:
        group, shell = self.group, self.shell
        shell.metrics.failed_rebalances += 1
        group.join_interval.backoff_ms = JOIN_BACKOFF_MS
        if what is Reaction.FIND:
            self.group.find_coordinator()
        elif what is Reaction.RAISE:
            group.queue.append(Problem(error, f"JoinGroup failed: {error.name}"))
        elif what is Reaction.ADOPT:
            group.set_member_id(response.member_id)
            group.join_interval.reset()
        group.forget(error, what)
        if group.is_cooperative and what in (Reaction.RESET, Reaction.ADOPT):
            group.revoke_all_and_rejoin("JoinGroup error", is_lost=True)
        else:
            group.rejoin(f"JoinGroup error: {error.name}")

    def _learn_topics(self, joined: JoinResponse) -> None:
        """A leader asks for the group's topics anew before it assigns."""
        group, shell = self.group, self.shell
        try:
            topics = topics_of(joined)
        except BadRecord:
            group.rejoin("assignor failed")
            return
        group.to_assign = joined
        group.move(JoinState.WAIT_METADATA)
        request = Metadata(shell.next_id(), topics)
        shell.send(request, None, shell.config.request_timeout_ms, joined)

    def _lead(self, joined: JoinResponse, known: Any, start_ms: int) -> None:
        group, shell = self.group, self.shell
        if group.to_assign is not joined or group.join_state is not JoinState.WAIT_METADATA:
            return
        group.to_assign = None
        if known is None:
            group.rejoin("Failed to get cluster metadata")
            return
        try:
            assignments = assign(shell, joined, known)
        except AssignorError:
            group.rejoin("assignor failed")
            return
        shell.measure("assign", start_ms, f"{len(assignments)} members")
        self._sync(assignments)

    def _sync(self, assignments: dict[str, bytes]) -> None:
        group, shell = self.group, self.shell
        if shell.coordinator is None:
            group.rejoin("SyncGroup error: no coordinator")
            return
        generation, member_id, _ = shell.generation
        request = SyncGroup(
            shell.next_id(),
            shell.config.group_id,
            member_id,
            generation,
            shell.config.instance_id,
            assignments=assignments,
        )
        group.waits_for_answer = True
        group.move(JoinState.WAIT_SYNC)
        shell.send(request, shell.coordinator, shell.session_timeout_ms + SYNC_GRACE_MS)

    def _synced(
        self, sent: InFlight, response: SyncResponse, error: Errors, what: Reaction
    ) -> None:
        group, shell = self.group, self.shell
        group.waits_for_answer = False
        if group.join_state is not JoinState.WAIT_SYNC:
            return
        if what is not Reaction.GO_ON or group.is_terminating:
            self._sync_failed(error, what)
            return
        shell.metrics.syncs += 1
        shell.measure("sync", sent.sent_ms)
        try:
            partitions = assigned(response.assignment) if response.assignment else ()
        except BadRecord:
            group.rejoin("SyncGroup error: Bad message format")
            return
        shell.rebalanced(group.rebalance_start_ms or sent.sent_ms)
        group.rebalance_start_ms = None
        group.last_assignment = LastAssignment(partitions, shell.generation.generation)
        group.renew_session(revives=True)
        group.take_assignment(partitions)

    def _sync_failed(self, error: Errors, what: Reaction) -> None:
        group = self.group
        self.shell.metrics.failed_rebalances += 1
        if what is Reaction.FIND:
            self.group.find_coordinator()
        group.forget(error, what)
        if group.is_cooperative and what in (Reaction.RESET, Reaction.RENEW):
            group.revoke_all_and_rejoin("SyncGroup error", is_lost=True)
        else:
            group.rejoin(f"SyncGroup error: {error.name}")

    def _beat(self, sent: InFlight, response: Any, error: Errors, what: Reaction) -> None:
        group = self.group
        self.heartbeats.is_in_flight = False
        if response is not None:
            self.shell.measure("heartbeat", sent.sent_ms)
        if what is Reaction.GO_ON:
            group.renew_session(revives=False)
            return
        if group.join_state in (
            JoinState.INIT,
            JoinState.WAIT_JOIN,
            JoinState.WAIT_METADATA,
            JoinState.WAIT_SYNC,
        ):
            return  # it was about a generation that is over
        if what is Reaction.FIND:
            self.group.find_coordinator()
        elif what is Reaction.RETRY:
            self.heartbeats.repeat()
        elif what is Reaction.REJOIN:
            group.renew_session(revives=False)
            if group.join_state not in WAIT_CALL:
                group.group_is_rebalancing()
        elif what in (Reaction.RESET, Reaction.RENEW, Reaction.FENCED):
            group.forget(error, what)
            group.revoke_all_and_rejoin_unless_rebalancing(error.name, is_lost=True)

    def _left(self, sent: InFlight, response: Any, error: Errors, what: Reaction) -> None:
        self.group.waits_for_leave = False
