"""DeleteGroups: removes an empty group and all its offsets."""

from __future__ import annotations

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.group_records import group_tombstone
from coordinator_core.coordinator.classic.reactions import move, react
from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.offset_records import offset_tombstone
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import DeleteGroup, DeleteResponse


def handle(turn: Turn, request: DeleteGroup) -> None:
    group = turn.groups.classic.get(request.group_id)
    if not request.group_id and not turn.era.empty_group_id_is_invalid:
        turn.log.answer(request, DeleteResponse(Errors.INVALID_GROUP_ID))
    elif group is None:
        turn.log.answer(request, DeleteResponse(Errors.GROUP_ID_NOT_FOUND))
    else:
        react(turn, Input.DELETE, group, request)


def refuse(turn: Turn, group: ClassicGroup, request: DeleteGroup) -> None:
    turn.log.answer(request, DeleteResponse(Errors.NON_EMPTY_GROUP))


def delete(turn: Turn, group: ClassicGroup, request: DeleteGroup) -> None:
    """Up to 3.9, the group is removed at once, even if its tombstones cannot be written."""
    move(turn, group, GroupState.DEAD)
    turn.groups.remove_classic(group)
    tombstones = [
        offset_tombstone(group.group_id, partition) for partition, _ in group.offsets.in_order()
    ]
    if group.generation > 0:  # a group of generation 0 has no record
        tombstones.append(group_tombstone(group.group_id))
    turn.effects.event("ADMIN_DELETE", group, groups=(group.group_id,), count=len(group.offsets))
    if tombstones:
        turn.log.append(group.group_id, group.partition, tombstones, lambda error: None)
    turn.effects.respond(request.request_id, DeleteResponse(Errors.NONE))


def delete_when_written(turn: Turn, group: ClassicGroup, request: DeleteGroup) -> None:
    """4.x: a group whose tombstones cannot be written stays."""
    turn.groups.discard_classic(group)
    partitions = [partition for partition, _ in group.offsets.in_order()]
    tombstones = [offset_tombstone(group.group_id, each) for each in partitions]
    tombstones.append(group_tombstone(group.group_id))

    def appended(error: Errors) -> None:
        if error is Errors.NONE:
            turn.effects.event(
                "ADMIN_DELETE", group, groups=(group.group_id,), count=len(group.offsets)
            )
        else:
            turn.groups.restore_classic([group])
            group.offsets.revert_removal(partitions, turn.log.snapshot_of(group.partition))

    turn.log.append(group.group_id, group.partition, tombstones, appended)
    errors = turn.era.commit_store_errors
    turn.log.answer(
        request,
        DeleteResponse(Errors.NONE),
        lambda error: DeleteResponse(errors.get(error, error)),
    )
