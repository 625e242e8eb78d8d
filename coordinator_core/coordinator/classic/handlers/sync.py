"""SyncGroup: followers wait, the leader brings everybody's assignment, all are answered."""

from __future__ import annotations

from typing import NamedTuple

from coordinator_core.coordinator import written_records as stored
from coordinator_core.coordinator.classic.group import Group
from coordinator_core.coordinator.classic.handlers.checks import check_sync
from coordinator_core.coordinator.classic.rebalance import hand_out, prepare, reset_assignments
from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import SyncGroup, SyncResponse


class StoredAssignment(NamedTuple):
    """What became of the record that a leader's sync had written."""

    assignments: dict[str, bytes]
    leader: str
    error: Errors


def handle(turn: Turn, request: SyncGroup) -> None:
    group = turn.groups.get(request.group_id)
    if not request.group_id and turn.era.empty_group_id_is_invalid:
        error = Errors.INVALID_GROUP_ID
    elif group is None:
        error = Errors.UNKNOWN_MEMBER_ID
    else:
        error = check_sync(turn, group, request)
    if error is not Errors.NONE or group is None:
        turn.respond(request.request_id, SyncResponse(error))
        return
    is_leader = group.leader == request.member_id
    turn.react(Input.SYNC_LEADER if is_leader else Input.SYNC_FOLLOWER, group, request)


def refuse(turn: Turn, group: Group, request: SyncGroup) -> None:
    turn.respond(request.request_id, SyncResponse(Errors.REBALANCE_IN_PROGRESS))


def park(turn: Turn, group: Group, request: SyncGroup) -> None:
    """Wait for the leader; a repeated sync takes the first one's place, which is never answered."""
    group.members[request.member_id].awaiting_sync = request.request_id
    _synced(turn, group, request)


def park_renewing(turn: Turn, group: Group, request: SyncGroup) -> None:
    """0.9 renews the session of who waits, and so leaves no timer behind."""
    park(turn, group, request)
    member = group.members[request.member_id]
    turn.era.renew_session(turn, group, member, member.session_timeout_ms)


def store(turn: Turn, group: Group, request: SyncGroup) -> None:
    """The leader's own sync is parked too: all are answered once the record is in the log."""
    park(turn, group, request)
    _store(turn, group, request)


def store_renewing(turn: Turn, group: Group, request: SyncGroup) -> None:
    park_renewing(turn, group, request)
    _store(turn, group, request)


def _store(turn: Turn, group: Group, request: SyncGroup) -> None:
    turn.event(
        "ASSIGNMENT_RECEIVED",
        group,
        member_id=request.member_id,
        member_count=len(group.members),
        static_member_count=len(group.static_members),
    )
    given = request.assignments
    assignments = {m.member_id: given.get(m.member_id, b"") for m in group.in_order()}
    missing = tuple([each for each in assignments if each not in given])
    if missing:
        turn.event("EMPTY_ASSIGNMENTS", group, step="set", members=missing)
    generation = group.generation

    def appended(error: Errors) -> None:
        # Meanwhile the group may have gone on without it.
        if generation == group.generation:
            stored_ = StoredAssignment(assignments, request.member_id, error)
            is_stored = error is Errors.NONE
            turn.react(
                Input.ASSIGNMENT_STORED if is_stored else Input.ASSIGNMENT_LOST, group, stored_
            )

    turn.append(group, [stored.group_record(turn.era, group, assignments)], appended)


def become_stable(turn: Turn, group: Group, what: StoredAssignment) -> None:
    for member in group.in_order():
        member.assignment = what.assignments[member.member_id]
    hand_out(turn, group, Errors.NONE)
    turn.move(group, GroupState.STABLE)


def begin_again(turn: Turn, group: Group, what: StoredAssignment) -> None:
    """Nobody gets an assignment that is not in the log."""
    error = turn.era.group_store_errors.get(what.error, what.error)
    turn.event("STORE_FAILED", group, step=_step_of(what.error, error), error=what.error.name)
    reset_assignments(turn, group, error)
    cause = {"cause": "STORE_ERROR", "member_id": what.leader, "error": error.name}
    prepare(turn, group, cause)


def _step_of(append_error: Errors, error: Errors) -> str:
    """The kinds of failure that a broker's log tells apart."""
    if error is Errors.UNKNOWN_SERVER_ERROR:
        return "too_large"
    return "unexpected" if error is append_error else "known"


def resend(turn: Turn, group: Group, request: SyncGroup) -> None:
    """The group is stable: the assignment that the member has."""
    _synced(turn, group, request)
    member = group.members[request.member_id]
    turn.respond(
        request.request_id,
        SyncResponse(Errors.NONE, group.protocol_type, group.protocol, member.assignment),
    )


def resend_renewing(turn: Turn, group: Group, request: SyncGroup) -> None:
    """Up to 3.9 such a sync renews the session; the new coordinator forgot it."""
    resend(turn, group, request)
    member = group.members[request.member_id]
    turn.era.renew_session(turn, group, member, member.session_timeout_ms)


def _synced(turn: Turn, group: Group, request: SyncGroup) -> None:
    group.pending_sync.pop(request.member_id, None)
    turn.era.check_sync(turn, group)
