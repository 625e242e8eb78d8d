"""OffsetCommit: by members, and by simple consumers, which only store offsets in the group."""

from __future__ import annotations

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.reactions import react
from coordinator_core.coordinator.classic.states import Input
from coordinator_core.coordinator.offset_commit import answer_of
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import OffsetCommit

_KIP_848_OFFSET_COMMIT = 9


def handle(turn: Turn, request: OffsetCommit) -> None:
    group = turn.groups.classic.get(request.group_id)
    if group is None:
        if request.generation >= 0:
            _refuse_all(turn, request, _no_such_group(turn, request))
            return
        group = _simple_group(turn, request)
    error = turn.era.check_commit(turn.era, group, request)
    if error is Errors.NONE:
        react(turn, Input.COMMIT, group, request)
    else:
        _refuse_all(turn, request, error)


def _no_such_group(turn: Turn, request: OffsetCommit) -> Errors:
    is_reported = turn.era.reports_missing_groups and request.version >= _KIP_848_OFFSET_COMMIT
    return Errors.GROUP_ID_NOT_FOUND if is_reported else Errors.ILLEGAL_GENERATION


def _simple_group(turn: Turn, request: OffsetCommit) -> ClassicGroup:
    """A group without members, for the offsets of a simple consumer."""
    if not turn.era.has_empty_state:
        # KAFKA-2720: before this change, the offsets of a simple consumer had no group.
        return turn.groups.unregistered_classic(request.group_id, turn.now_ms)
    group = turn.groups.new_classic(request.group_id, turn.now_ms)
    turn.effects.event("SIMPLE_GROUP", group)
    return group


def _refuse_all(turn: Turn, request: OffsetCommit, error: Errors) -> None:
    turn.log.answer(request, answer_of(request, {}, error))


# -- reactions -----------------------------------------------------------------------------------


def refuse(turn: Turn, group: ClassicGroup, request: OffsetCommit) -> None:
    """Refuse between join and sync: the member's partitions are about to change."""
    _refuse_all(turn, request, Errors.REBALANCE_IN_PROGRESS)


def store_keeping_alive(turn: Turn, group: ClassicGroup, request: OffsetCommit) -> None:
    """Store, and renew the member's session."""
    member = group.members[request.member_id]
    turn.timers.renew_session(group, member, member.session_timeout_ms)
    store(turn, group, request)


def store(turn: Turn, group: ClassicGroup, request: OffsetCommit) -> None:
    turn.era.store_offsets(turn, group, request)
