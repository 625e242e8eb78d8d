"""DeleteGroups: removes an empty group and all its offsets."""

from __future__ import annotations

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.group_records import group_tombstone
from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.offset_records import offset_tombstone
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import DeleteGroup, DeleteResponse


def handle(turn: Turn, request: DeleteGroup) -> None:
    group = turn.groups.get(request.group_id)
    if group is None:
        turn.answer(request, DeleteResponse(Errors.GROUP_ID_NOT_FOUND))
    else:
        turn.react(Input.DELETE, group, request)


def refuse(turn: Turn, group: ClassicGroup, request: DeleteGroup) -> None:
    turn.answer(request, DeleteResponse(Errors.NON_EMPTY_GROUP))


def delete(turn: Turn, group: ClassicGroup, request: DeleteGroup) -> None:
    """Up to 3.9: the group is removed at once, even if its tombstones cannot be written."""
    turn.move(group, GroupState.DEAD)
    turn.remove_group(group)
    tombstones = [
        offset_tombstone(group.group_id, partition) for partition, _ in group.offsets.in_order()
    ]
    if group.generation > 0:  # a group of generation 0 has no record
        tombstones.append(group_tombstone(group.group_id))
    turn.event("ADMIN_DELETE", group, groups=(group.group_id,), count=len(group.offsets))
    if tombstones:
        turn.append(group, tombstones, lambda error: None)
    turn.respond(request.request_id, DeleteResponse(Errors.NONE))


def delete_when_written(turn: Turn, group: ClassicGroup, request: DeleteGroup) -> None:
    """4.x: a group whose tombstones cannot be written stays."""
    turn.discard_group(group)
    partitions = [partition for partition, _ in group.offsets.in_order()]
    tombstones = [offset_tombstone(group.group_id, each) for each in partitions]
    tombstones.append(group_tombstone(group.group_id))

    def appended(error: Errors) -> None:
        if error is Errors.NONE:
            turn.event("ADMIN_DELETE", group, groups=(group.group_id,), count=len(group.offsets))
        else:
            turn.restore_groups([group])
            group.offsets.revert_removal(partitions, turn.shard_of(group.partition).snapshot)

    turn.append(group, tombstones, appended)
    errors = turn.era.commit_store_errors
    turn.answer(
        request,
        DeleteResponse(Errors.NONE),
        lambda error: DeleteResponse(errors.get(error, error)),
    )
