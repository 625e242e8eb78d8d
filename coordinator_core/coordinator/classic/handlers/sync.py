"""SyncGroup: followers wait; the leader sends all assignments; once stored, all are answered."""

from __future__ import annotations

from typing import NamedTuple

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.group_records import group_record
from coordinator_core.coordinator.classic.handlers.checks import check_sync
from coordinator_core.coordinator.classic.reactions import move, react
from coordinator_core.coordinator.classic.rebalance import answer_syncs, prepare, reset_assignments
from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import SyncGroup, SyncResponse


class StoredAssignment(NamedTuple):
    """The outcome of appending the record of a leader's sync."""

    assignments: dict[str, bytes]
    leader: str
    error: Errors


def handle(turn: Turn, request: SyncGroup) -> None:
    group = turn.groups.classic.get(request.group_id)
    if not request.group_id and turn.era.empty_group_id_is_invalid:
        error = Errors.INVALID_GROUP_ID
    elif group is None:
        error = Errors.UNKNOWN_MEMBER_ID
    else:
        error = check_sync(turn, group, request)
    if error is not Errors.NONE or group is None:
        turn.effects.respond(request.request_id, SyncResponse(error))
        return
    is_leader = group.leader == request.member_id
    react(turn, Input.SYNC_LEADER if is_leader else Input.SYNC_FOLLOWER, group, request)


def refuse(turn: Turn, group: ClassicGroup, request: SyncGroup) -> None:
    turn.effects.respond(request.request_id, SyncResponse(Errors.REBALANCE_IN_PROGRESS))


def wait(turn: Turn, group: ClassicGroup, request: SyncGroup) -> None:
    """Wait for the leader; a repeated sync replaces the first, which is never answered."""
    group.members[request.member_id].awaiting_sync = request.request_id
    _synced(turn, group, request)


def wait_renewing(turn: Turn, group: ClassicGroup, request: SyncGroup) -> None:
    """0.9: the sync renews the session, so no timer is left behind."""
    wait(turn, group, request)
    member = group.members[request.member_id]
    turn.timers.renew_session(group, member, member.session_timeout_ms)


def store(turn: Turn, group: ClassicGroup, request: SyncGroup) -> None:
    """The leader's sync waits, too: all syncs are answered once the record is in the log."""
    wait(turn, group, request)
    _store(turn, group, request)


def store_renewing(turn: Turn, group: ClassicGroup, request: SyncGroup) -> None:
    wait_renewing(turn, group, request)
    _store(turn, group, request)


def _store(turn: Turn, group: ClassicGroup, request: SyncGroup) -> None:
    turn.effects.event(
        "ASSIGNMENT_RECEIVED",
        group,
        member_id=request.member_id,
        member_count=len(group.members),
        static_member_count=len(group.static_members),
    )
    sent = request.assignments
    assignments = {m.member_id: sent.get(m.member_id, b"") for m in group.in_order()}
    missing = tuple([each for each in assignments if each not in sent])
    if missing:
        turn.effects.event("EMPTY_ASSIGNMENTS", group, step="set", members=missing)
    generation = group.generation

    def appended(error: Errors) -> None:
        # The append may end after the group has moved to a later generation.
        if generation == group.generation:
            outcome = StoredAssignment(assignments, request.member_id, error)
            is_stored = error is Errors.NONE
            input_ = Input.ASSIGNMENT_STORED if is_stored else Input.ASSIGNMENT_NOT_STORED
            react(turn, input_, group, outcome)

    turn.log.append(
        group.group_id, group.partition, [group_record(turn.era, group, assignments)], appended
    )


def become_stable(turn: Turn, group: ClassicGroup, stored: StoredAssignment) -> None:
    for member in group.in_order():
        member.assignment = stored.assignments[member.member_id]
    answer_syncs(turn, group, Errors.NONE)
    move(turn, group, GroupState.STABLE)


def rebalance_again(turn: Turn, group: ClassicGroup, failed: StoredAssignment) -> None:
    """No member gets an assignment that is not in the log."""
    error = turn.era.group_store_errors.get(failed.error, failed.error)
    turn.effects.event(
        "STORE_FAILED", group, step=_step_of(failed.error, error), error=failed.error.name
    )
    reset_assignments(turn, group, error)
    cause = {"cause": "STORE_ERROR", "member_id": failed.leader, "error": error.name}
    prepare(turn, group, cause)


def _step_of(append_error: Errors, error: Errors) -> str:
    """The kind of failure, as a broker's log distinguishes them."""
    if error is Errors.UNKNOWN_SERVER_ERROR:
        return "too_large"
    return "unexpected" if error is append_error else "known"


def resend(turn: Turn, group: ClassicGroup, request: SyncGroup) -> None:
    """Answer with the assignment that the member has: the group is Stable."""
    _synced(turn, group, request)
    member = group.members[request.member_id]
    turn.effects.respond(
        request.request_id,
        SyncResponse(Errors.NONE, group.protocol_type, group.protocol, member.assignment),
    )


def resend_renewing(turn: Turn, group: ClassicGroup, request: SyncGroup) -> None:
    """Up to 3.9 such a sync also renews the session; 4.x does not."""
    resend(turn, group, request)
    member = group.members[request.member_id]
    turn.timers.renew_session(group, member, member.session_timeout_ms)


def _synced(turn: Turn, group: ClassicGroup, request: SyncGroup) -> None:
    group.pending_sync.pop(request.member_id, None)
    turn.timers.check_sync(group)
