"""The entry point of the engine: requests and time in, effects out.

    coordinator = Coordinator(CoordinatorConfig(), ERAS["4.1"], member_ids)
    effects = coordinator.handle(request, now_ms)

Perform effects in order.  Report the outcome of an ``Append`` through ``appended``, at once or
later (its answers wait).  Perform the effects that ``appended`` returns before the effects that
follow the Append.  Before a request, fire the timers that are due by its time: ``advance``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.handlers import (
    commit,
    delete,
    describe,
    heartbeat,
    join,
    sync,
)
from coordinator_core.coordinator.classic.timers import JoinWait
from coordinator_core.coordinator.era import CoordinatorConfig, Era
from coordinator_core.coordinator.expiry import CleanUp
from coordinator_core.coordinator.listing import handle_list
from coordinator_core.coordinator.loading import load, unload
from coordinator_core.coordinator.metadata_image import TopicImage
from coordinator_core.coordinator.modern.configuration import setting_ms
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.coordinator.modern.handlers import handlers_of
from coordinator_core.coordinator.modern.timers import SESSION
from coordinator_core.coordinator.modern.topics import change_topics
from coordinator_core.coordinator.offset_fetch import fetch_offsets
from coordinator_core.coordinator.turn import MemberIds, Turn
from coordinator_core.protocol.errors import Errors, UnexpectedState
from coordinator_core.protocol.messages import (
    Append,
    BareError,
    DeleteGroup,
    DescribeGroup,
    Effect,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    ListGroups,
    OffsetCommit,
    OffsetFetch,
    Record,
    Request,
    Response,
    SyncGroup,
)


def _leave(turn: Turn, request: LeaveGroup) -> None:
    turn.era.leave(turn, request)


CLASSIC_HANDLERS: Mapping[type[Request], Callable[[Turn, Any], None]] = {
    JoinGroup: join.handle,
    SyncGroup: sync.handle,
    Heartbeat: heartbeat.handle,
    LeaveGroup: _leave,
    OffsetCommit: commit.handle,
    OffsetFetch: fetch_offsets,
    DescribeGroup: describe.handle,
    DeleteGroup: delete.handle,
    ListGroups: handle_list,
}


def _failure(turn: Turn, request: Request) -> Response:
    """The answer to a request that Kafka's coordinator fails on with an exception."""
    error = Errors.UNKNOWN_SERVER_ERROR
    if isinstance(request, JoinGroup):
        return JoinResponse(error=error, protocol_name=turn.era.failed_join_protocol)
    if isinstance(request, LeaveGroup):
        return turn.era.failed_leave(error)
    refusal = turn.handlers.refusals.get(type(request))
    if refusal is not None:
        return refusal(error)
    return BareError(error)


class Coordinator:
    """The group coordinator of one broker, under the rules of an era.

    ``member_ids`` makes the id of a new member from the group id and its client or instance id.
    """

    __slots__ = ("_clean_up", "_turn")

    def __init__(self, config: CoordinatorConfig, era: Era, member_ids: MemberIds) -> None:
        self._turn = Turn(config, era, member_ids, handlers_of(era.modern_types))
        interval_ms = config.offsets_retention_check_interval_ms
        self._clean_up = None if interval_ms is None else CleanUp(self._turn, interval_ms)
        if self._clean_up is not None:
            self._clean_up.set()

    @property
    def groups(self) -> Mapping[str, ClassicGroup]:
        """The classic groups by id; the caller must not change them."""
        return self._turn.groups.classic

    @property
    def modern_groups(self) -> Mapping[str, ModernGroup]:
        """The consumer, share and streams groups by id; the caller must not change them."""
        return self._turn.groups.modern

    def handle(self, request: Request, now_ms: int) -> list[Effect]:
        effects = self._turn.begin(now_ms)
        try:
            self._handle(request)
        except UnexpectedState:
            self._turn.effects.fail(request.request_id, _failure(self._turn, request))
        return effects

    def _handle(self, request: Request) -> None:
        """Pass the request to its handler, by its type or by the type of the present group."""
        turn, kind = self._turn, type(request)
        handle = CLASSIC_HANDLERS.get(kind)
        if handle is None:
            handle = turn.handlers.requests.get(kind)
            if handle is None:
                turn.effects.respond(request.request_id, BareError(Errors.UNSUPPORTED_VERSION))
            else:
                handle(turn, request)
            return
        group = turn.groups.modern.get(request.group_id) if turn.groups.modern else None
        if group is not None:
            shared = turn.handlers.of[group.group_type.name].shared_requests.get(kind)
            if shared is not None:
                shared(turn, group, request)
                return
        handle(turn, request)

    @property
    def has_background(self) -> bool:
        """Returns whether there is work for ``run_background``."""
        return bool(self._turn.background)

    def run_background(self, now_ms: int) -> list[Effect] | None:
        """Do one piece of the work that Kafka gives to background threads; returns None without
        work.

        Performs what the requests before it began, so do it after their effects.
        """
        if not self._turn.background:
            return None
        effects = self._turn.begin(now_ms)
        self._turn.background.pop(0)()
        return effects

    def change_topics(
        self, topics: Iterable[TopicImage], deleted: Iterable[str], now_ms: int
    ) -> list[Effect]:
        """Take new metadata of the cluster: topics deleted, then created or grown."""
        effects = self._turn.begin(now_ms)
        change_topics(self._turn, list(topics), list(deleted))
        return effects

    def configure_group(self, group_id: str, configs: Mapping[str, str]) -> None:
        """Replace a group's own configuration; names are Kafka's: consumer.session.timeout.ms."""
        self._turn.group_configs[group_id] = dict(configs)

    def advance(self, now_ms: int) -> list[Effect]:
        """Fire all timers due by ``now_ms``, each at its own deadline."""
        effects: list[Effect] = []
        while (fired := self.fire_next(now_ms)) is not None:
            effects += fired
        return effects

    def fire_next(self, now_ms: int) -> list[Effect] | None:
        """Fire the earliest timer if it is due by ``now_ms``; returns None if no timer is due."""
        timer = self._turn.wheel.pop_due(now_ms)
        if timer is None:
            return None
        effects = self._turn.begin(max(self._turn.now_ms, timer.deadline_ms))
        with suppress(UnexpectedState):  # a broker only logs this error
            timer.expire()
        return effects

    def appended(self, append: Append, error: Errors, now_ms: int) -> list[Effect]:
        """Report that the records of ``append`` are in the log, or the error that kept them out."""
        effects = self._turn.begin(now_ms)
        turn = self._turn
        shard, number = turn.log.take(append.append_id)
        turn.groups.settle(shard, number, error)
        turn.log.call_waiting(shard, number, error)
        if error is not Errors.NONE and turn.groups.unwritten_removals:
            turn.groups.restore_unwritten(shard)
        return effects

    def load(self, records: Iterable[Record], now_ms: int) -> list[Effect]:
        """Load groups from their log: (key, value) in log order, compacted or not.

        Members get new sessions from now on.  Raises BadRecord for unreadable bytes.
        """
        effects = self._turn.begin(now_ms)
        if self._clean_up is not None and not (self.groups or self.modern_groups):
            self._clean_up.loaded()
        load(self._turn, records)
        return effects

    def unload(self, now_ms: int, partition: int | None = None) -> list[Effect]:
        """Unload the groups of a partition of `__consumer_offsets`, or all groups."""
        effects = self._turn.begin(now_ms)
        unload(self._turn, partition)
        return effects

    def expect_heartbeats(
        self, group_id: str, heartbeats_ms: Mapping[str, int], now_ms: int
    ) -> None:
        """Renew the sessions of a Stable group as if heartbeats arrived up to these times.

        ``heartbeats_ms`` is the time of the last heartbeat by member id, maybe in the future.  This
        is for a caller that skips heartbeats while nothing else happens to the group.
        """
        self._turn.begin(now_ms)
        group = self._turn.groups.classic[group_id]
        for member_id, last_ms in sorted(heartbeats_ms.items(), key=lambda last: last[1]):
            member = group.members[member_id]
            timeout_ms = last_ms - now_ms + member.session_timeout_ms
            self._turn.timers.renew_session(group, member, timeout_ms)

    def use_member_ids(self, member_ids: MemberIds) -> None:
        """Make the ids of further members in another way."""
        self._turn.member_ids = member_ids

    def session_timeout_ms(self, group_id: str) -> int:
        """The session timeout of the members of a consumer, share or streams group."""
        group_type = self._turn.groups.modern[group_id].group_type
        return setting_ms(self._turn, group_id, group_type, "session.timeout.ms")

    def end_session_at(self, group_id: str, member_id: str, at_ms: int) -> None:
        """Move the end of a member's session, in a consumer, share or streams group.

        This is for a caller that skips heartbeats.
        """
        self._turn.modern_timers.move((SESSION, group_id, member_id), at_ms)

    def join_waits(self, group_id: str) -> tuple[JoinWait, ...]:
        """The waits for members of the group to join; at most one in a consistent group."""
        return self._turn.timers.join_waits(group_id)

    def next_deadline_ms(self) -> int | None:
        """The time at which the earliest timer is due, or None without timers."""
        return self._turn.wheel.next_deadline_ms()
