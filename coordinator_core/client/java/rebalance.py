"""A rebalance as a member goes through it: prepare, join, sync, complete."""

from __future__ import annotations

from collections.abc import Collection

from coordinator_core.client.java.answers import PROTOCOL_TYPE
from coordinator_core.client.java.commits import Commits
from coordinator_core.client.java.member import Future, Member
from coordinator_core.client.java.metadata import ClusterMetadata
from coordinator_core.client.java.threads import Thread, Thrown, Wait, exception_name, never
from coordinator_core.client.messages import MemberState
from coordinator_core.client.reactions import Reaction
from coordinator_core.client.subscription import LastAssignment, assigned, subscriptions
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import JoinGroup, TopicPartition
from coordinator_core.records import BadRecord

JOIN_GROUP_TIMEOUT_LAPSE_MS = 5000  # what a join may take beyond the rebalance timeout
AT_ONCE = {Reaction.REJOIN, Reaction.RESET, Reaction.RENEW, Reaction.ADOPT}
LATER = {Reaction.RETRY, Reaction.FIND}


class Rebalance:
    def __init__(self, member: Member, metadata: ClusterMetadata, commits: Commits) -> None:
        self.member = member
        self.shell = member.shell
        self.metadata = metadata
        self.commits = commits
        self.prepare_start_ms: int | None = None

    def is_needed(self) -> bool:
        """Or pending.  The leader sees topics change, everybody its own subscription."""
        member = self.member
        if not self.shell.topics:
            return False
        if self.metadata.has_changed:
            if not member.rejoin_needed:
                member.request_rejoin("cached metadata has changed")
            return True
        if member.joined_topics is not None and member.joined_topics != self.shell.topics:
            if not member.rejoin_needed:
                member.request_rejoin("subscription has changed")
            return True
        return member.rejoin_needed or member.join is not None

    def step(self) -> Thread:
        """One round: prepare if that was not done yet, join and sync, complete if that worked."""
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
        """The other thread may have left the group since."""
        member = self.member
        if member.generation_is_reset or self.shell.state is not MemberState.STABLE:
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
            yield Wait(never, self.shell.now_ms + self.shell.config.retry_backoff_ms)
        elif join.reaction not in AT_ONCE:
            raise Thrown(join.error, name, is_fatal=join.reaction is Reaction.FENCED)

    # onJoinPrepare

    def _prepare(self) -> Thread:
        """Commit, then give up what has to be given up before the join."""
        member, shell = self.member, self.shell
        start_ms = shell.now_ms
        if self.prepare_start_ms is None:
            self.prepare_start_ms = start_ms
        yield from self.commits.commit_all(start_ms + member.rebalance_timeout_ms)
        member.needs_join_prepare = False
        if member.has_no_generation and shell.library.has_lost and shell.owned:
            yield from self._let_go("lost", shell.owned)
        elif self._revokes_all():
            yield from self._let_go("revoked", shell.owned)
        elif member.is_cooperative and not member.has_no_generation:
            gone = [each for each in shell.owned if each[0] not in shell.topics]
            if gone:
                yield from self._let_go("revoked", gone)
        self.metadata.assigned = None
        self.metadata.group_topics = frozenset()
        shell.measure("join-prepare", start_ms)

    def _revokes_all(self) -> bool:
        """Before KIP-429 the listener hears of every rejoin, the first join included."""
        member, library = self.member, self.shell.library
        if member.is_cooperative:
            return False
        if not member.has_no_generation or not library.has_lost:
            return True
        return library.revokes_on_first_join and member.joined_topics is None

    def _let_go(self, kind: str, partitions: Collection[TopicPartition]) -> Thread:
        """They are owned until the listener has returned."""
        given_up = set(partitions)
        yield from call_listener(self.member, kind, given_up)
        self.shell.own(each for each in self.shell.owned if each not in given_up)

    def _send_join(self) -> Future:
        shell, member, join = self.shell, self.member, Future()
        library, config = shell.library, shell.config
        shell.move(MemberState.PREPARING_REBALANCE, member.rejoin_reason)
        if member.rebalance_start_ms is None:
            member.rebalance_start_ms = shell.now_ms
        if shell.coordinator is None:
            join.end(Errors.COORDINATOR_NOT_AVAILABLE, Reaction.FIND)
            return join
        member.joined_topics = shell.topics
        request = JoinGroup(
            shell.next_id(),
            config.group_id,
            shell.generation.member_id,
            member.instance_id,
            config.client_id,
            config.client_host,
            shell.session_timeout_ms,
            member.rebalance_timeout_ms,
            PROTOCOL_TYPE,
            subscriptions(shell, shell.owned, member.last_assignment),
            library.takes_given_member_id,
            library.skips_assignment,
            member.rejoin_reason if library.sends_reasons else None,
        )
        timeout_ms = max(
            config.request_timeout_ms, member.rebalance_timeout_ms + JOIN_GROUP_TIMEOUT_LAPSE_MS
        )
        shell.send(request, shell.coordinator, timeout_ms, join)
        return join

    # onJoinComplete

    def _complete(self, data: bytes) -> Thread:
        """A cooperative member that must give something up joins once more afterwards."""
        shell, member = self.shell, self.member
        start_ms = shell.now_ms
        try:
            partitions = assigned(data)
        except BadRecord as bad:
            member.join, member.needs_join_prepare = None, True
            raise Thrown(None, f"IllegalStateException: assignment {bad}") from bad
        if any(topic not in shell.topics for topic, _ in partitions):
            member.request_rejoin("received assignment does not match the current subscription")
            return
        before = set(shell.owned)
        if member.is_cooperative and (gone := before.difference(partitions)):
            yield from call_listener(member, "revoked", gone)
            member.request_rejoin("need to revoke partitions and re-join")
        member.last_assignment = LastAssignment(partitions, shell.generation.generation)
        self.commits.start_interval()
        shell.own(partitions)
        yield from call_listener(member, "assigned", set(partitions) - before)
        shell.measure("join-complete", start_ms)
        if self.prepare_start_ms is not None:
            shell.measure("rebalance-with-callbacks", self.prepare_start_ms)
            self.prepare_start_ms = None


def call_listener(member: Member, kind: str, partitions: set[TopicPartition]) -> Thread:
    member.shell.call_listener(kind, partitions)
    yield Wait(lambda: member.shell.listener_call is None)
