"""The Java consumer of modern groups: its background thread and the application's thread.

The background thread sends requests and handles responses at once.  While it polls, the
application's thread checks for work each 100 ms: one turn begins to reconcile, and the next turn
runs the callback. A share consumer and a streams member do the same, as far as heartbeats are
concerned.
"""

from __future__ import annotations

from typing import Any

from coordinator_core.client.context import ClientContext, InFlight
from coordinator_core.client.messages import (
    ClientResponse,
    Closed,
    FindCoordinator,
    Metadata,
    MetadataResponse,
)
from coordinator_core.client.modern.heartbeats import HEARTBEAT, Heartbeats
from coordinator_core.client.modern.member_protocols import MEMBER_PROTOCOLS
from coordinator_core.client.modern.membership import (
    MembershipManager,
    MembershipState,
    PendingCallback,
)
from coordinator_core.client.modern.offsets import COMMIT, Offsets
from coordinator_core.client.modern.reactions import JAVA_MODERN
from coordinator_core.client.reactions import Reaction, error_of, reaction_to
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import OffsetCommit, OffsetFetch

TURN_MS = 100  # state of the application's thread inside poll
LOOKUP, TURN, METADATA, CLOSE = "lookup", "turn", "metadata", "close"
S = MembershipState


class JavaModernConsumer:
    """``turn_ms`` is the time of the last turn of the application's thread."""

    own_timers = frozenset({HEARTBEAT})
    commit_timers = frozenset({COMMIT})

    def __init__(self, context: ClientContext) -> None:
        self.context = context
        protocol = MEMBER_PROTOCOLS[context.config.group_protocol]
        self.offsets = Offsets(context, protocol.has_offsets)
        self.membership = MembershipManager(context, self.offsets)
        self.heartbeats = Heartbeats(self.membership)
        self.call: PendingCallback | None = None
        self.polls = False
        self.is_closing = False
        self.close_ms = 0
        self.began_ms = 0
        self.turn_ms = -1
        self.lookup_ms = 0
        self.lookups = 0
        self.metadata_ms: int | None = None
        self.fatal: Errors | None = None
        self.errors: list[Errors] = []

    @property
    def is_idle(self) -> bool:
        context, membership = self.context, self.membership
        steady = membership.state is S.STABLE and not membership.callbacks and self.call is None
        busy = context.in_flight or self.offsets.is_busy or self.is_closing
        return steady and self.polls and context.coordinator is not None and not busy

    # Calls of the application.

    def subscribe(self) -> None:
        self.metadata_ms = self.context.now_ms
        if self.membership.state not in (S.UNSUBSCRIBED, S.FATAL):
            self.heartbeats.has_sent = False
            self.heartbeats.due_ms = self.context.now_ms
        self.settle()

    def unsubscribe(self) -> None:
        self._give_up(self.membership.leave)
        self.context.topics = ()
        self.settle()

    def poll(self) -> None:
        context, membership = self.context, self.membership
        self.polls = True
        self.heartbeats.poll_ms = None
        self.began_ms, self.turn_ms = context.now_ms, -1
        subscribed = context.topics or context.config.regex or context.config.topology
        if subscribed and membership.state is S.UNSUBSCRIBED and not self.is_closing:
            membership.join()
            self.offsets.start_interval()
        self.settle()

    def process(self) -> None:
        self.polls = False
        self.heartbeats.poll_ms = self.context.now_ms
        self.settle()

    def listened(self) -> None:
        call, self.call = self.call, None
        if call is not None:
            call.then()
        self.settle()

    def commit(self) -> None:
        self.offsets.commit_once()
        self.settle()

    def close(self) -> None:
        """Commit, call the listener, leave, wait for the answer."""
        self.is_closing, self.polls = True, True
        self.heartbeats.poll_ms = None
        self.close_ms = self.context.now_ms + self.context.config.close_timeout_ms
        self.membership.callbacks.clear()
        timeout_ms = self.context.config.close_timeout_ms
        if self.call is None:
            self.offsets.commit_and_wait(self._close, timeout_ms)
        else:
            call = self.call
            self.call = call._replace(
                then=lambda: self.offsets.commit_and_wait(self._close, timeout_ms)
            )
        self.settle()

    def _close(self) -> None:
        if not self.context.config.leave_group_on_close:
            self.membership.move(S.UNSUBSCRIBED)
            return
        self._give_up(self.membership.leave)

    def _give_up(self, then: Any) -> None:
        membership, owned = self.membership, self.context.owned
        membership.prepare_leave()
        if not owned or not membership.protocol.has_callbacks:
            then()
            return
        kind = "revoked" if membership.epoch > 0 else "lost"
        self._listen(PendingCallback(kind, owned, then))

    # Events of the network.

    def answered(self, sent: InFlight, response: ClientResponse | None) -> None:
        self._take(sent, response)
        self.settle()

    def disconnected(self, node: int) -> None:
        if node == self.context.coordinator:
            self.context.coordinator = None
        self.settle()

    def _take(self, sent: InFlight, response: Any) -> None:
        context, request = self.context, sent.request
        if isinstance(request, Metadata):
            self._metadata(response)
            return
        error = error_of(response)
        reaction = reaction_to(JAVA_MODERN, request, error)
        if context.has_lost_coordinator(sent, response) or (
            reaction is Reaction.FIND and context.coordinator == sent.node
        ):
            context.coordinator = None
        if isinstance(request, FindCoordinator):
            self._found(sent, response, error, reaction)
        elif isinstance(request, OffsetCommit):
            context.measure("commit", sent.sent_ms, error.name)
            self.offsets.committed(error, reaction, is_manual=bool(sent.attachment))
        elif isinstance(request, OffsetFetch):
            self.offsets.fetched(response, reaction)
        elif not sent.attachment:
            self._heartbeat_answered(sent, response, error, reaction)

    def _found(self, sent: InFlight, response: Any, error: Errors, reaction: Reaction) -> None:
        context = self.context
        if reaction is Reaction.GO_ON:
            context.measure("find-coordinator", sent.sent_ms)
            context.coordinator, self.lookups = response.node, 0
            return
        if reaction is Reaction.RAISE:
            self.errors.append(error)
        backoff_ms = context.library.backoff_ms(context.config, self.lookups, context.jitter())
        self.lookups += 1
        self.lookup_ms = context.now_ms + backoff_ms

    def _heartbeat_answered(
        self, sent: InFlight, response: Any, error: Errors, reaction: Reaction
    ) -> None:
        heartbeats, membership = self.heartbeats, self.membership
        if heartbeats.in_flight == sent.request.request_id:
            heartbeats.in_flight = None
        if response is not None:
            self.context.measure("heartbeat", sent.sent_ms)
        if reaction is Reaction.GO_ON:
            heartbeats.answered(response.heartbeat_interval_ms)
            assignment = response.assignment
            units = None if assignment is None else membership.protocol.units(assignment)
            membership.answered(response.member_epoch, units)
            return
        heartbeats.failed()
        if reaction is Reaction.RESET:
            heartbeats.reset()
            membership.fence(error.name)
        elif reaction is Reaction.FATAL:
            self.fatal = error
            membership.fail(error.name)
        elif reaction is Reaction.FIND and response is not None:
            heartbeats.retry_ms = 0
        elif reaction is Reaction.RAISE:
            self.errors.append(error)

    def _metadata(self, response: Any) -> None:
        context = self.context
        if not isinstance(response, MetadataResponse):
            self.metadata_ms = context.now_ms + context.config.retry_backoff_ms
            return
        context.partitions = {**context.partitions, **response.partitions}
        context.topic_names.update({id_: name for name, id_ in response.topic_ids.items()})
        if any(topic not in response.partitions for topic in context.topics):
            self.metadata_ms = context.now_ms + context.config.retry_backoff_max_ms

    # The threads.

    def settle(self) -> None:
        """Run both threads until nothing changes."""
        while not self.context.is_closed:
            before = self._progress()
            self._serve_background()
            self._serve_application()
            if before == self._progress():
                break
        if not self.context.is_closed:
            self._set_timers()

    def _progress(self) -> tuple[object, ...]:
        membership = self.membership
        return self.context.requests, len(self.context.effects), membership.state, self.turn_ms

    def _serve_background(self) -> None:
        context = self.context
        needs = self.membership.state not in (S.UNSUBSCRIBED, S.FATAL) or self.offsets.is_busy
        lacks = context.coordinator is None and not context.waits_for(FindCoordinator)
        if needs and lacks and self.lookup_ms <= context.now_ms:
            request = FindCoordinator(context.next_id(), context.config.group_id)
            context.send(request, None, context.config.request_timeout_ms)
        self._request_metadata()
        self.membership.reconcile(polls=False)
        self.offsets.serve(polls=self._is_in_poll)
        self.heartbeats.serve()
        self._end_if_closed()

    def _request_metadata(self) -> None:
        context, membership = self.context, self.membership
        unknown = membership.protocol.unknown_topics(membership.target.units, context.topic_names)
        due = self.metadata_ms is not None and self.metadata_ms <= context.now_ms
        if (due or (unknown and self.metadata_ms is None)) and not context.waits_for(Metadata):
            self.metadata_ms = None
            request = Metadata(context.next_id(), context.topics, unknown)
            context.send(request, None, context.config.request_timeout_ms)

    @property
    def _is_in_poll(self) -> bool:
        return self.polls and self.call is None

    def _next_turn_ms(self) -> int | None:
        """The next turn of the application's thread, if it has something to do."""
        waits = self.membership.waits_for_poll or self.fatal is not None or self.errors
        if not waits or not self._is_in_poll or self.is_closing:
            return None
        turns = -(-(self.context.now_ms - self.began_ms) // TURN_MS)
        at_ms = self.began_ms + turns * TURN_MS
        return at_ms if at_ms > self.turn_ms else at_ms + TURN_MS

    def _serve_application(self) -> None:
        context = self.context
        at_ms = self._next_turn_ms()
        if at_ms is None or at_ms > context.now_ms:
            return
        self.turn_ms = context.now_ms
        if self.fatal is not None:
            error, self.fatal = self.fatal, None
            context.raise_(error, error.name, is_fatal=True)
            return
        for error in self.errors:
            context.raise_(error, error.name)
        self.errors.clear()
        if self.membership.callbacks:
            self._listen(self.membership.callbacks.popleft())
        else:
            self.membership.polled()
            self.membership.reconcile(polls=True)

    def _listen(self, call: PendingCallback) -> None:
        self.call = call
        self.context.call_listener(call.kind, call.partitions)

    def _end_if_closed(self) -> None:
        context, membership = self.context, self.membership
        if not self.is_closing or self.call is not None or self.offsets.waiting is not None:
            return
        done = membership.state in (S.UNSUBSCRIBED, S.FATAL, S.STALE, S.FENCED)
        late = context.now_ms >= self.close_ms
        if late or (done and self.heartbeats.in_flight is None):
            context.in_flight.clear()
            context.timers.clear()
            context.is_closed = True
            context.effects.append(Closed())

    def _set_timers(self) -> None:
        context = self.context
        lacks = context.coordinator is None and not context.waits_for(FindCoordinator)
        context.set_timer(LOOKUP, self.lookup_ms if lacks and self.lookup_ms else None)
        context.set_timer(TURN, self._next_turn_ms())
        context.set_timer(METADATA, self.metadata_ms)
        context.set_timer(CLOSE, self.close_ms if self.is_closing else None)
        self.heartbeats.set_timers()
        self.offsets.set_timers(polls=self._is_in_poll)

    def thawed(self) -> None:
        """Do nothing, because each thread sets its next time when it runs."""

    def heartbeat_interval_ms(self) -> int:
        return self.heartbeats.interval_ms or self.context.config.heartbeat_interval_ms

    def skip_heartbeats(self, to_ms: int) -> int | None:
        last_ms = self.heartbeats.skip(to_ms)
        self.offsets.skip(to_ms)
        self._set_timers()
        return last_ms
