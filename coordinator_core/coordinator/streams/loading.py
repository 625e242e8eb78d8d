"""The effect of each record on a streams group."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator_core.coordinator.group_handlers import Replay
from coordinator_core.coordinator.modern.configuration import rules_of
from coordinator_core.coordinator.modern.records import Fields
from coordinator_core.coordinator.modern.replaying import (
    group_of,
    put,
    put_member_back,
    set_field,
    set_target,
)
from coordinator_core.coordinator.streams import records
from coordinator_core.coordinator.streams.group import (
    LEFT,
    NO_TOPOLOGY,
    StreamsGroup,
    StreamsMember,
)
from coordinator_core.coordinator.streams.states import StreamsMemberState
from coordinator_core.coordinator.streams.tasks import (
    NOTHING,
    ActiveTasks,
    AssignedTasks,
    Replicas,
    TargetTasks,
)
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.messages import CopartitionGroup, Subtopology, Topology

_STATES = {state.value: state for state in StreamsMemberState}


def _group(turn: Turn, key: Fields, value: Fields | None) -> StreamsGroup | None:
    return group_of(turn, StreamsGroup, key, value, new_group)


def new_group(turn: Turn, group_id: str) -> StreamsGroup:
    """A group that is not registered yet, with the offsets that the group id has."""
    rules = rules_of(turn)
    partition, offsets = turn.log.partition_of(group_id), turn.groups.offsets_for(group_id)
    return StreamsGroup(group_id, partition, offsets, rules.streams.first_epoch, rules.streams)


def _replay_group(turn: Turn, key: Fields, value: Fields | None) -> None:
    group = _group(turn, key, value)
    if group is None:
        return
    if value is None:
        turn.groups.remove_modern(group)
        return
    configs = value.get("last_assignment_configs", [])
    set_field(turn, group, "epoch", value["epoch"])
    set_field(turn, group, "metadata_hash", value["metadata_hash"])
    validated_epoch = value.get("validated_topology_epoch", NO_TOPOLOGY)
    set_field(turn, group, "validated_epoch", validated_epoch)
    set_field(turn, group, "assignment_configs", {row["key"]: row["value"] for row in configs})
    _update_state(turn, group)


def _replay_topology(turn: Turn, key: Fields, value: Fields | None) -> None:
    group = _group(turn, key, value)
    if group is not None:
        topology = None
        if value is not None:
            subtopologies = [_subtopology(row) for row in value["subtopologies"]]
            topology = Topology(value["epoch"], tuple(subtopologies))
        set_field(turn, group, "topology", topology)
        _update_state(turn, group)


def _subtopology(row: Fields) -> Subtopology:
    return Subtopology(
        row["subtopology_id"],
        tuple(row["source_topics"]),
        tuple(row["repartition_sink_topics"]),
        _topic_infos(row["repartition_source_topics"]),
        _topic_infos(row["state_changelog_topics"]),
        tuple([_copartition_group(each) for each in row["copartition_groups"]]),
    )


def _topic_infos(rows: list[Fields]) -> tuple[tuple[str, int], ...]:
    return tuple([(row["name"], row["partitions"]) for row in rows])


def _copartition_group(row: Fields) -> CopartitionGroup:
    return CopartitionGroup(tuple(row["source_topics"]), tuple(row["repartition_source_topics"]))


def _replay_member(turn: Turn, key: Fields, value: Fields | None) -> None:
    group, member_id = _group(turn, key, value), key["member_id"]
    if group is None:
        return
    if value is None:
        _put_member(turn, group, member_id, None)
        return
    endpoint = value["user_endpoint"]
    changed = (group.members.get(member_id) or StreamsMember(member_id=member_id))._replace(
        instance_id=value["instance_id"],
        rack_id=value["rack_id"],
        client_id=value["client_id"],
        client_host=value["client_host"],
        rebalance_timeout_ms=value["rebalance_timeout_ms"],
        topology_epoch=value["topology_epoch"],
        process_id=value["process_id"],
        endpoint=None if endpoint is None else (endpoint["host"], endpoint["port"]),
        client_tags={row["key"]: row["value"] for row in value["client_tags"]},
    )
    _put_member(turn, group, member_id, changed)


def _replay_current(turn: Turn, key: Fields, value: Fields | None) -> None:
    group, member_id = _group(turn, key, value), key["member_id"]
    if group is None:
        return
    member = group.members.get(member_id)
    if value is not None:
        epoch = value["member_epoch"]
        changed = (member or StreamsMember(member_id=member_id))._replace(
            epoch=epoch,
            previous_epoch=value["previous_member_epoch"],
            state=_STATES.get(value["state"], StreamsMemberState.UNKNOWN),
            assigned=_assigned(value, "", epoch),
            pending=_assigned(value, "_pending_revocation", epoch),
        )
        _put_member(turn, group, member_id, changed)
    elif member is not None:
        left = member._replace(epoch=LEFT, previous_epoch=LEFT, assigned=NOTHING, pending=NOTHING)
        _put_member(turn, group, member_id, left)


def _assigned(value: Fields, suffix: str, member_epoch: int) -> AssignedTasks:
    return AssignedTasks(
        _active(value["active_tasks" + suffix], member_epoch),
        _replicas(value["standby_tasks" + suffix]),
        _replicas(value["warmup_tasks" + suffix]),
    )


def _active(rows: list[Fields], member_epoch: int) -> ActiveTasks:
    """Tasks with the epochs at which they were assigned, the member's if not written."""
    tasks: dict[str, dict[int, int]] = {}
    for row in rows:
        partitions, epochs = row["partitions"], row.get("assignment_epochs") or []
        if len(epochs) != len(partitions):
            epochs = [member_epoch] * len(partitions)
        tasks[row["subtopology_id"]] = dict(zip(partitions, epochs, strict=True))
    return tasks


def _replicas(rows: list[Fields]) -> Replicas:
    return {row["subtopology_id"]: frozenset(row["partitions"]) for row in rows}


def _put_member(
    turn: Turn, group: StreamsGroup, member_id: str, member: StreamsMember | None
) -> None:
    before, static = group.members.get(member_id), dict(group.static_members)
    group.put_member(member_id, member)

    def revert() -> None:
        put_member_back(turn, group, member_id, before)
        group.static_members = static

    turn.log.reverts.append(revert)
    if before is not None:
        for tasks in (before.assigned, before.pending):
            group.owners.release(tasks, before.process_id, turn.log.reverts)
    if member is not None:
        for tasks in (member.assigned, member.pending):
            group.owners.take(tasks, member.process_id, turn.log.reverts)
    _update_state(turn, group)


def _replay_target(turn: Turn, key: Fields, value: Fields | None) -> None:
    group = _group(turn, key, value)
    if group is not None:
        set_target(turn, group, value)
        _update_state(turn, group)


def _replay_member_target(turn: Turn, key: Fields, value: Fields | None) -> None:
    group = _group(turn, key, value)
    if group is not None:
        target = None
        if value is not None:
            target = TargetTasks(
                _replicas(value["active_tasks"]),
                _replicas(value["standby_tasks"]),
                _replicas(value["warmup_tasks"]),
            )
        put(turn, group.targets, key["member_id"], target)


def _update_state(turn: Turn, group: StreamsGroup) -> None:
    before, shutdown_member_id = group.state, group.shutdown_member_id
    group.update_state()
    turn.log.reverts.append(lambda: setattr(group, "state", before))
    if shutdown_member_id is not None and group.shutdown_member_id is None:
        turn.effects.modern_event("SHUTDOWN_CLEARED", group.group_id)


REPLAYS: Mapping[str, Replay[Turn]] = {
    records.GROUP: _replay_group,
    records.TOPOLOGY: _replay_topology,
    records.MEMBER: _replay_member,
    records.CURRENT: _replay_current,
    records.TARGET: _replay_target,
    records.MEMBER_TARGET: _replay_member_target,
}
