"""Values as the Java coordinator prints them in its lines of consumer, share and streams groups.

Each function of UNNAMED returns, in the order of the line, the values of a line that its readers
ignore.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.modern.order import in_order_of_ids
from coordinator_core.jvm.java_maps import hash_order
from coordinator_core.protocol.messages import Event

Values = tuple[object, ...]

MISSING_TOPICS_ERROR = (  # Before 4.2 the line has the exception instead.
    "org.apache.kafka.coordinator.group.streams.topics.TopicConfigurationException: "
    "Internal topics are missing: [{}]"
)


def unnamed_values(event: Event, era: Era) -> Values:
    make = UNNAMED.get(event.kind)
    return () if make is None else make(event, era)


def is_writable(event: Event, era: Era) -> bool:
    """Before 4.2 a line prints the whole topology, which the event does not have."""
    return event.kind != "TOPOLOGY_CONFIGURED" or _has_epochs(era)


def _bump(event: Event, era: Era) -> Values:
    fields = event.fields
    return tuple(fields[name] for name in ("metadata_hash", "validated_epoch") if name in fields)


def _reconcile(event: Event, era: Era) -> Values:
    member = event.fields["member"]
    state, pending = getattr(member, "state", None), getattr(member, "pending", None)
    start = (member.epoch, member.previous_epoch, "STABLE" if state is None else state.name)
    if pending is None:  # members of share groups revoke nothing
        return *start, _partitions(member.assigned)
    return *start, _tasks(member.assigned, era), _tasks(pending, era)


def _member(event: Event, era: Era) -> Values:
    """``StreamsGroupMember.toString``."""
    member = event.fields["member"]
    is_new = member.epoch == 0 and not _has_epochs(era)
    endpoint = (
        member.endpoint and f"Endpoint(host='{member.endpoint[0]}', port={member.endpoint[1]})"
    )
    fields = {
        "memberId": member.member_id,
        "memberEpoch": member.epoch,
        "previousMemberEpoch": "null" if is_new else member.previous_epoch,
        "state": member.state.name,
        "instanceId": _optional(member.instance_id),
        "rackId": _optional(member.rack_id),
        "clientId": member.client_id,
        "clientHost": member.client_host,
        "rebalanceTimeoutMs": member.rebalance_timeout_ms,
        "topologyEpoch": member.topology_epoch,
        "processId": member.process_id,
        "userEndpoint": _optional(endpoint),
        "clientTags": _map(member.client_tags),
        "assignedTasks": _tasks(member.assigned, era),
        "tasksPendingRevocation": _tasks(member.pending, era),
    }
    return (f"StreamsGroupMember[{', '.join(f'{k}={v}' for k, v in fields.items())}]",)


def _topics(event: Event, era: Era) -> Values:
    return (_list(hash_order(event.fields["topics"])),)


def _scan(event: Event, era: Era) -> Values:
    return event.fields["topics"], _list(hash_order(event.fields["regexes"]))


def _epoch(event: Event, era: Era) -> Values:
    return (event.fields["epoch"],)


def _hash(event: Event, era: Era) -> Values:
    return (event.fields["metadata_hash"],)


def _configs(event: Event, era: Era) -> Values:
    return (_map(event.fields["configs"]),)


def _topics_checked(event: Event, era: Era) -> Values:
    return event.fields["epoch"], ", ".join(event.fields["topics"])


UNNAMED: Mapping[str, Callable[[Event, Era], Values]] = {
    "EPOCH_BUMP": _bump,
    "RECONCILE": _reconcile,
    "MEMBER_UPDATED": _member,
    "SUBSCRIPTION": _topics,
    "REGEXES_SCANNED": _scan,
    "METADATA_HASH": _hash,
    "TOPOLOGY_INITIALIZED": _epoch,
    "TOPOLOGY_CONFIGURED": _epoch,
    "TOPOLOGY_STALE": _epoch,
    "TOPICS_CHECKED": _topics_checked,
    "ASSIGNMENT_CONFIGS_CHANGED": _configs,
}


def _has_epochs(era: Era) -> bool:
    return era.modern is not None and era.modern.streams.writes_task_epochs


def _list(values: Iterable[object]) -> str:
    return f"[{', '.join(map(str, values))}]"


def _map(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name}={values[name]}" for name in hash_order(values)) + "}"


def _optional(value: object) -> str:
    return "Optional.empty" if value is None else f"Optional[{value}]"


def _partitions(assigned: Mapping[str, Iterable[int]]) -> str:
    """``Utils.assignmentToString``."""
    return _list(f"{each}-{p}" for each in in_order_of_ids(assigned) for p in assigned[each])


def _tasks(tasks: Any, era: Era) -> str:
    """``TasksTupleWithEpochs.toString``; before 4.2, without epochs."""
    active = _list(
        f"{subtopology}-{partition}" + (f"@{epochs[partition]}" if _has_epochs(era) else "")
        for subtopology, epochs in sorted(tasks.active.items())
        for partition in sorted(epochs)
    )
    return (
        f"(active={active}, standby={_replicas(tasks.standby)}, warmup={_replicas(tasks.warmup)})"
    )


def _replicas(tasks: Mapping[str, Iterable[int]]) -> str:
    return _list(
        f"{each}-{p}" for each, partitions in sorted(tasks.items()) for p in sorted(partitions)
    )
