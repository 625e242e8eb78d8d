"""A member's rebalance: prepare, join, sync, complete."""

from __future__ import annotations

from collections.abc import Collection

from coordinator_core.client.java.commits import Commits
from coordinator_core.client.java.member import Future, JavaMember
from coordinator_core.client.java.metadata import ClusterMetadata
from coordinator_core.client.java.responses import PROTOCOL_TYPE
from coordinator_core.client.java.threads import Thread, Thrown, Wait, exception_name, never
from coordinator_core.client.messages import MemberState
from coordinator_core.client.reactions import Reaction
from coordinator_core.client.subscription import LastAssignment, assigned, subscriptions
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import JoinGroup, TopicPartition
from coordinator_core.records import BadRecord

JOIN_GROUP_TIMEOUT_LAPSE_MS = 5000  # time added to the rebalance timeout of a JoinGroup request
AT_ONCE = {Reaction.REJOIN, Reaction.RESET, Reaction.RENEW, Reaction.ADOPT}
LATER = {Reaction.RETRY, Reaction.FIND}


class JavaRebalance:
    def __init__(self, member: JavaMember, metadata: ClusterMetadata, commits: Commits) -> None:
        self.member = member
        self.context = member.context
        self.metadata = metadata
        self.commits = commits
        self.prepare_start_ms: int | None = None

    def is_needed(self) -> bool:
        """Returns whether a rejoin is needed or pending: topics (leader) or the subscription
        changed, or a response asked for it.
        """
        member = self.member
        if not self.context.topics:
            return False
        if self.metadata.has_changed:
            if not member.rejoin_needed:
                member.request_rejoin("cached metadata has changed")
            return True
        if member.joined_topics is not None and member.joined_topics != self.context.topics:
            if not member.rejoin_needed:
                member.request_rejoin("subscription has changed")
            return True
        return member.rejoin_needed or member.join is not None

    def step(self) -> Thread:
        """Make one attempt: prepare unless already done, join and sync, and complete if both
        succeeded.
        """
        member = self.member
        if member.needs_join_prepare:
            yield from self._prepare()
        if member.join is None:
            member.join = self._send_join()
        join = member.join
        yield Wait(lambda: join.is_done)
        if join.succeeded:
            yield from self._end(join)
        else:
            yield from self._fail(join)

    def _end(self, join: Future) -> Thread:
        """Complete the rebalance, unless the heartbeat thread left the group in the meantime."""
        member = self.member
        if member.generation_is_reset or self.context.state is not MemberState.STABLE:
            member.reset_and_rejoin(
                "rebalance failed since the generation/state was modified by heartbeat thread",
                keeps_member_id=False,
            )
            member.join = None
            return
        yield from self._complete(join.value)
        member.join = None
        member.needs_join_prepare = True

    def _fail(self, join: Future) -> Thread:
        member = self.member
        member.join = None
        name = exception_name(join.error)
        if join.reaction is not Reaction.ADOPT:
            member.request_rejoin(f"rebalance failed due to {name}")
        if join.reaction in LATER:
            yield Wait(never, self.context.now_ms + self.context.config.retry_backoff_ms)
        elif join.reaction not in AT_ONCE:
            raise Thrown(join.error, name, is_fatal=join.reaction is Reaction.FENCED)

    # onJoinPrepare

    def _prepare(self) -> Thread:
        """Commit, then revoke or lose the partitions that must be given up before the join."""
        member, context = self.member, self.context
        start_ms = context.now_ms
        if self.prepare_start_ms is None:
            self.prepare_start_ms = start_ms
        yield from self.commits.commit_all(start_ms + member.rebalance_timeout_ms)
        member.needs_join_prepare = False
        if member.has_no_generation and context.library.has_lost and context.owned:
            yield from self._give_up("lost", context.owned)
        elif self._revokes_all():
            yield from self._give_up("revoked", context.owned)
        elif member.is_cooperative and not member.has_no_generation:
            unsubscribed = [each for each in context.owned if each[0] not in context.topics]
            if unsubscribed:
                yield from self._give_up("revoked", unsubscribed)
        self.metadata.assigned = None
        self.metadata.group_topics = frozenset()
        context.measure("join-prepare", start_ms)

    def _revokes_all(self) -> bool:
        """Returns whether to revoke everything; before KIP-429 also before the first join."""
        member, library = self.member, self.context.library
        if member.is_cooperative:
            return False
        if not member.has_no_generation or not library.has_lost:
            return True
        return library.revokes_on_first_join and member.joined_topics is None

    def _give_up(self, kind: str, partitions: Collection[TopicPartition]) -> Thread:
        """Call the listener; the partitions are owned until it returns."""
        revoked = set(partitions)
        yield from call_listener(self.member, kind, revoked)
        self.context.own(each for each in self.context.owned if each not in revoked)

    def _send_join(self) -> Future:
        context, member, join = self.context, self.member, Future()
        library, config = context.library, context.config
        context.move(MemberState.PREPARING_REBALANCE, member.rejoin_reason)
        if member.rebalance_start_ms is None:
            member.rebalance_start_ms = context.now_ms
        if context.coordinator is None:
            join.end(Errors.COORDINATOR_NOT_AVAILABLE, Reaction.FIND)
            return join
        member.joined_topics = context.topics
        request = JoinGroup(
            request_id=context.next_id(),
            group_id=config.group_id,
            member_id=context.generation.member_id,
            instance_id=member.instance_id,
            client_id=config.client_id,
            client_host=config.client_host,
            session_timeout_ms=context.session_timeout_ms,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            protocol_type=PROTOCOL_TYPE,
            protocols=subscriptions(context, context.owned, member.last_assignment),
            requires_known_member_id=library.supports_member_id_required,
            supports_skipping_assignment=library.skips_assignment,
            reason=member.rejoin_reason if library.sends_reasons else None,
        )
        timeout_ms = max(
            config.request_timeout_ms, member.rebalance_timeout_ms + JOIN_GROUP_TIMEOUT_LAPSE_MS
        )
        context.send(request, context.coordinator, timeout_ms, join)
        return join

    # onJoinComplete

    def _complete(self, data: bytes) -> Thread:
        """Take the assignment; a cooperative member that revokes partitions rejoins afterwards."""
        context, member = self.context, self.member
        start_ms = context.now_ms
        try:
            partitions = assigned(data)
        except BadRecord as bad:
            member.join, member.needs_join_prepare = None, True
            raise Thrown(None, f"IllegalStateException: assignment {bad}") from bad
        if any(topic not in context.topics for topic, _ in partitions):
            member.request_rejoin("received assignment does not match the current subscription")
            return
        before = set(context.owned)
        if member.is_cooperative and (revoked := before.difference(partitions)):
            yield from call_listener(member, "revoked", revoked)
            member.request_rejoin("need to revoke partitions and re-join")
        member.last_assignment = LastAssignment(partitions, context.generation.generation)
        self.commits.start_interval()
        context.own(partitions)
        yield from call_listener(member, "assigned", set(partitions) - before)
        context.measure("join-complete", start_ms)
        if self.prepare_start_ms is not None:
            context.measure("rebalance-with-callbacks", self.prepare_start_ms)
            self.prepare_start_ms = None


def call_listener(member: JavaMember, kind: str, partitions: set[TopicPartition]) -> Thread:
    member.context.call_listener(kind, partitions)
    yield Wait(lambda: member.context.listener_call is None)
