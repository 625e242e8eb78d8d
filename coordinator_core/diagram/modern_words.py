"""Texts of requests, answers and records of consumer, share and streams groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from coordinator_core.diagram.names import Names
from coordinator_core.diagram.recording import Line

Json = Any
Step = Mapping[str, Json]

HEARTBEATS = {
    "consumer_heartbeat": "ConsumerGroupHeartbeat",
    "share_heartbeat": "ShareGroupHeartbeat",
    "streams_heartbeat": "StreamsGroupHeartbeat",
}
REQUESTS = {
    **HEARTBEATS,
    "consumer_describe": "ConsumerGroupDescribe",
    "share_describe": "ShareGroupDescribe",
    "streams_describe": "StreamsGroupDescribe",
    "list": "ListGroups",
}
# steps that are not requests of clients
CHANGES = frozenset({"metadata", "group_config", "reload"})

_CONSUMER_STATES = ("", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS")
_STREAMS_STATES = ("", "", "UNREVOKED_TASKS", "UNRELEASED_TASKS")
_STATUS = (
    "STALE_TOPOLOGY",
    "MISSING_SOURCE_TOPICS",
    "INCORRECTLY_PARTITIONED_TOPICS",
    "MISSING_INTERNAL_TOPICS",
    "SHUTDOWN_APPLICATION",
    "ASSIGNMENT_DELAYED",
)


class Epochs:
    """The values of references in steps: "@id" and "last", in epochs and owned partitions."""

    def __init__(self) -> None:
        self._answers: dict[str, Line] = {}  # "@step"
        self._last: dict[str, tuple[int, list[Json]]] = {}  # member id -> epoch, assignment

    def note_answer(self, line: Line) -> None:
        if line["op"] not in HEARTBEATS or line["error"] != "NONE":
            return
        self._answers["@" + line["to"]] = line
        _, assigned = self._last.get(line["member"], (0, []))
        if line["assignment"] is not None:
            assigned = line["assignment"]
        self._last[line["member"]] = line["member_epoch"], assigned

    def epoch(self, step: Step, name: str = "member_epoch") -> int:
        value = step[name]
        if value == "last":
            return self._last.get(step["member"], (0, []))[0]
        return int(self._answers[value]["member_epoch"] if isinstance(value, str) else value)

    def owned(self, step: Step) -> list[Json] | None:
        value = step.get("owned")
        if value == "last":
            return self._last.get(step["member"], (0, []))[1]
        if isinstance(value, str):
            return self._answers[value]["assignment"] or []
        return value


def heartbeat(step: Step, epochs: Epochs, names: Names) -> list[str]:
    """The content of a heartbeat: epoch, changes, and what the member owns."""
    member, epoch = step["member"], epochs.epoch(step)
    owned = None if epoch == 0 else epochs.owned(step)
    topology = step.get("topology")
    return [
        *([f"as member {member}"] if member != names.of_step(step["id"]) else []),
        *_named("instance", step.get("instance_id")),
        f"epoch {epoch}",
        *([] if step.get("topics") is None else ["+".join(step["topics"])]),
        *_named("regular expression", step.get("regex")),
        *_named("assignor", step.get("assignor")),
        *([] if topology is None else [f"topology {_topology(**topology)}"]),
        *([] if owned is None else [f"owns {rows(owned)}"]),
    ]


def _named(word: str, value: str | None) -> list[str]:
    return [] if value is None else [f"{word} {value}"]


def _topology(epoch: int, subtopologies: Sequence[Mapping[str, Json]]) -> str:
    parts = [
        f"subtopology {each.get('id', each.get('subtopology_id'))} of "
        + "+".join(each["source_topics"])
        for each in subtopologies
    ]
    return f"epoch {epoch}, " + ", ".join(parts)


def heartbeat_answer(line: Line, names: Names) -> list[str]:
    """The epoch; the assignment if it changed; the status of a streams group."""
    if line["error"] != "NONE":
        return []
    assigned = line["assignment"]
    status = [_STATUS[code] for code in line.get("status", ())]
    changed = [] if assigned is None else [f"assigned {rows(assigned)}"]
    return [f"epoch {line['member_epoch']}", *changed, *status]


def description(line: Line, names: Names) -> list[str]:
    if line["error"] != "NONE":
        return []
    members = [
        f"{names.of_member(each['member'])} epoch {each['member_epoch']} {rows(each['assignment'])}"
        for each in line["members"]
    ]
    epochs = f"epoch {line['epoch']}, assignment epoch {line['assignment_epoch']}"
    return [line["state"], epochs, *(members or ["no members"])]


def state(line: Line, names: Names) -> str:
    """The group's state and epochs, and its members that are not stable at the assignment epoch."""
    if line["state"] == "Dead":
        return "Dead"
    epochs = f"epoch {line['epoch']}, assignment epoch {line['assignment_epoch']}"
    members = [
        f"{names.of_member(member)} epoch {epoch}" + ("" if is_stable(kind) else f" {kind}")
        for member, epoch, kind in line["members"]
        if not is_stable(kind) or epoch != line["assignment_epoch"]
    ]
    return ", ".join([line["state"], epochs, *members])


def is_stable(kind: str) -> bool:
    return kind == "STABLE"


def change(step: Step, names: Names) -> str:
    """A step that is not a request of a client."""
    if step["op"] == "reload":
        return "the coordinator moves: the group is loaded from the log"
    if step["op"] == "group_config":
        return ", ".join(f"{name}={value}" for name, value in step["configs"].items())
    topics = [_partitions(row["name"], row["partitions"]) for row in step.get("topics") or ()]
    return ", ".join([*topics, *(f"topic {name} deleted" for name in step.get("deleted") or ())])


def _partitions(name: str, count: int) -> str:
    return f"topic {name}: {count} partition" + "s" * (count != 1)


def rows(assigned: Iterable[Sequence[Json]]) -> str:
    """Partitions by topic, or tasks by role: orders-0,1 payments-3; active 0_0,0_1 standby 1_0."""
    listed: dict[str, list[str]] = {}
    for *names, numbers in assigned:
        prefix = f"{names[1]}_" if len(names) == 2 else ""
        texts = [f"{prefix}{number}" for number in sorted(numbers)]
        listed.setdefault(f"{names[0]} " if prefix else f"{names[0]}-", []).extend(texts)
    return " ".join(head + ",".join(texts) for head, texts in listed.items() if texts) or "nothing"


# -- records


def record(name: str, key: Mapping[str, Json], value: Json, names: Names) -> str | None:
    """The text of a record, "kind: content", or None for a type that other modules describe."""
    kind, text = _RECORDS.get(name.partition("Group")[2], (None, None))
    if kind is None or text is None:
        return None
    if value is None:
        who = f" of {names.of_member(key['member_id'])}" if "member_id" in key else ""
        of = f" {key['regular_expression']}" if "regular_expression" in key else ""
        return f"tombstones: {kind}{who}{of}"
    return f"{kind}: {text(key, value, names)}"


def _group(key: Mapping[str, Json], value: Mapping[str, Json], names: Names) -> str:
    return f"epoch {value['epoch']}"


def _member(key: Mapping[str, Json], value: Mapping[str, Json], names: Names) -> str:
    protocol = " of the classic protocol" if value.get("classic_member_metadata") else ""
    subscribed = "+".join(value.get("subscribed_topic_names", ()))
    regex = value.get("subscribed_topic_regex")
    topology = value.get("topology_epoch")
    return ", ".join(
        [
            names.of_member(key["member_id"]) + protocol,
            *_named("instance", value.get("instance_id")),
            *([subscribed] if subscribed else []),
            *([f"regular expression {regex}"] if regex else []),
            *_named("assignor", value.get("server_assignor")),
            *([] if topology is None else [f"topology epoch {topology}"]),
        ]
    )


def _target(key: Mapping[str, Json], value: Mapping[str, Json], names: Names) -> str:
    return f"{names.of_member(key['member_id'])} {_assigned(value, 'topic_partitions', names)}"


def _target_epoch(key: Mapping[str, Json], value: Mapping[str, Json], names: Names) -> str:
    return f"epoch {value['assignment_epoch']}"


def _current(key: Mapping[str, Json], value: Mapping[str, Json], names: Names) -> str:
    is_streams = "active_tasks" in value
    kind = (_STREAMS_STATES if is_streams else _CONSUMER_STATES)[value["state"]]
    pending = _assigned(value, "partitions_pending_revocation", names, "_pending_revocation")
    assigned = _assigned(value, "assigned_partitions", names)
    parts = [f"{names.of_member(key['member_id'])} epoch {value['member_epoch']}", assigned]
    return ", ".join([*parts, *([kind] if kind else []), *_to_revoke(pending)])


def _to_revoke(pending: str) -> list[str]:
    return [] if pending == "nothing" else [f"to revoke {pending}"]


def _assigned(value: Mapping[str, Json], field: str, names: Names, suffix: str = "") -> str:
    """Partitions in ``field``, or tasks in the three fields of a streams group."""
    if field in value:
        return _by_name(value[field], names)
    roles = ("active", "standby", "warmup")
    return rows(
        [role, each["subtopology_id"], each["partitions"]]
        for role in roles
        for each in value.get(f"{role}_tasks{suffix}", ())
    )


def _by_name(topics: Iterable[Mapping[str, Json]], names: Names) -> str:
    return rows(sorted([names.of_topic(each["topic_id"]), each["partitions"]] for each in topics))


def _regex(key: Mapping[str, Json], value: Mapping[str, Json], names: Names) -> str:
    return f"{key['regular_expression']} matches {', '.join(sorted(value['topics'])) or 'nothing'}"


def _share_partitions(key: Mapping[str, Json], value: Mapping[str, Json], names: Names) -> str:
    parts = [
        f"{kind} {_by_name(value[f'{kind}_topics'], names)}"
        for kind in ("initializing", "initialized")
        if value[f"{kind}_topics"]
    ]
    return ", ".join(
        [*parts, *(f"deleting {each['topic_name']}" for each in value["deleting_topics"])]
    )


def _topology_record(key: Mapping[str, Json], value: Mapping[str, Json], names: Names) -> str:
    return _topology(**value)


_Text = Callable[[Mapping[str, Json], Mapping[str, Json], Names], str]
_RECORDS: Mapping[str, tuple[str, _Text]] = {
    "Metadata": ("group", _group),
    "MemberMetadata": ("member", _member),
    "TargetAssignmentMember": ("target assignment", _target),
    "TargetAssignmentMetadata": ("target assignment", _target_epoch),
    "CurrentMemberAssignment": ("current assignment", _current),
    "RegularExpression": ("regular expression", _regex),
    "StatePartitionMetadata": ("share partitions", _share_partitions),
    "Topology": ("topology", _topology_record),
}
