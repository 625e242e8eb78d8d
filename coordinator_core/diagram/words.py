"""Texts of arrows: requests, answers and records, in few words."""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from coordinator_core.diagram import modern_words
from coordinator_core.diagram.names import Names
from coordinator_core.diagram.recording import Line
from coordinator_core.records import BadRecord, decode, decode_assignment, decode_subscription

NONE = "NONE"
Step = Mapping[str, Any]

_REQUESTS = {
    "join": "JoinGroup",
    "sync": "SyncGroup",
    "heartbeat": "Heartbeat",
    "leave": "LeaveGroup",
    "commit": "OffsetCommit",
    "fetch": "OffsetFetch",
    "describe": "DescribeGroups",
    "delete": "DeleteGroups",
    **modern_words.REQUESTS,
}


def seconds(ms: int) -> str:
    """Seconds without trailing zeros: 3 s, 0.3 s, 6.001 s."""
    return f"{ms / 1000:.3f}".rstrip("0").rstrip(".") + " s"


def op_name(op: str) -> str:
    return _REQUESTS[op]


class Requests:
    """Texts of requests; remembers responses, because steps refer to them."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._answers: dict[str, tuple[str, int]] = {}  # "@step" -> member id, generation
        # participant -> protocols that were last shown for this participant
        self._shown: dict[str, str] = {}
        self._epochs = modern_words.Epochs()
        self._has_epochs = False  # whether members of modern groups sent requests

    def note_answer(self, line: Line) -> None:
        self._epochs.note_answer(line)
        if line.get("op") == "join":
            self._answers["@" + line["to"]] = line["member"], line["generation"]

    def text(self, step: Step) -> str:
        parts: Callable[[Requests, Step], list[str]] = _PARTS[step["op"]]
        return ", ".join([_REQUESTS[step["op"]], *parts(self, step)])

    def who(self, member: str) -> str:
        answer = self._answers.get(member)
        return self._names.of_member(member if answer is None else answer[0])

    def _as_who(self, step: Step) -> list[str]:
        """The member id, unless it is the first of its participant, and the instance id."""
        who = self.who(step["member"])
        instance_id = step.get("instance_id")
        return [
            *(
                [f"as member {who}"]
                if step["member"] and who != self._names.of_step(step["id"])
                else []
            ),
            *([] if instance_id is None else [f"instance {instance_id}"]),
        ]

    def _generation(self, step: Step) -> list[str]:
        value = step["generation"]
        answer = self._answers.get(value) if isinstance(value, str) else (None, value)
        return [f"generation {-1 if answer is None else answer[1]}"]

    def join(self, step: Step) -> list[str]:
        asks = self._names.of_step(step["id"])
        who = f"member {self.who(step['member'])}" if step["member"] else "no member id"
        instance_id = step.get("instance_id")
        instance = [] if instance_id is None else [f"instance {instance_id}"]
        protocols = "; ".join(f"{name} for {subscribed(data)}" for name, data in step["protocols"])
        is_same, self._shown[asks] = self._shown.get(asks) == protocols, protocols
        return [who, *instance, "same protocols" if is_same else protocols or "no protocols"]

    def sync(self, step: Step) -> list[str]:
        assigned = [
            f"{self.who(who)} gets {partitions(data)}" for who, data in step.get("assignments", ())
        ]
        return [*self._as_who(step), *self._generation(step), *assigned]

    def heartbeat(self, step: Step) -> list[str]:
        return [*self._as_who(step), *self._generation(step)]

    def leave(self, step: Step) -> list[str]:
        return [self._leaver(*member) for member in step["members"]]

    def _leaver(self, member: str, instance_id: str | None) -> str:
        who = [self.who(member)] if member else []
        return " of ".join([*who, *([] if instance_id is None else [f"instance {instance_id}"])])

    def commit(self, step: Step) -> list[str]:
        offsets = [f"{topic}-{number} at {offset}" for topic, number, offset, _ in step["offsets"]]
        if self._has_epochs:
            return [
                *self._as_who(step),
                f"epoch {self._epochs.epoch(step, 'generation')}",
                *offsets,
            ]
        return [*self._as_who(step), *self._generation(step), *offsets]

    def member_heartbeat(self, step: Step) -> list[str]:
        self._has_epochs = True
        return modern_words.heartbeat(step, self._epochs, self._names)

    def fetch(self, step: Step) -> list[str]:
        if step["offsets"] is None:
            return ["all partitions"]
        return [_grouped(step["offsets"])]

    def nothing(self, step: Step) -> list[str]:
        return []


_PARTS: Mapping[str, Callable[[Requests, Step], list[str]]] = {
    "join": Requests.join,
    "sync": Requests.sync,
    "heartbeat": Requests.heartbeat,
    "leave": Requests.leave,
    "commit": Requests.commit,
    "fetch": Requests.fetch,
    "describe": Requests.nothing,
    "delete": Requests.nothing,
    **dict.fromkeys(modern_words.REQUESTS, Requests.nothing),
    **dict.fromkeys(modern_words.HEARTBEATS, Requests.member_heartbeat),
}


# -- answers -------------------------------------------------------------------------------------


def answer(line: Line, names: Names) -> str:
    op, error = line["op"], line["error"]
    parts = _ANSWERS[op](line, names) if op in _ANSWERS else []
    return f"{_REQUESTS[op]}: " + ", ".join([*([] if error == NONE and parts else [error]), *parts])


def _join_answer(line: Line, names: Names) -> list[str]:
    if line["error"] == "MEMBER_ID_REQUIRED":
        return [f"member id {names.of_member(line['member'])}"]
    if line["error"] != NONE:
        return []
    member, leader = line["member"], line["leader"]
    own_id = [] if names.is_first(member) else [f"member id {names.of_member(member)}"]
    if leader != member:
        return [f"generation {line['generation']}", *own_id, f"leader {names.of_member(leader)}"]
    skips = ["skip assignment"] * bool(line.get("skip_assignment"))
    members = names.of_members(each for each, *_ in line["members"])
    return [f"generation {line['generation']}", *own_id, f"leader of {members}", *skips]


def _sync_answer(line: Line, names: Names) -> list[str]:
    return [] if line["error"] != NONE else [partitions(line["assignment"])]


def _leave_answer(line: Line, names: Names) -> list[str]:
    return [
        f"{names.of_member(who)} {error}"
        for who, _, error in line.get("members", ())
        if error != NONE
    ]


def _commit_answer(line: Line, names: Names) -> list[str]:
    rows = line.get("partitions", ())
    if len({error for _, _, error in rows}) < 2:
        return []
    return [f"{topic}-{number} {error}" for topic, number, error in rows]


def _fetch_answer(line: Line, names: Names) -> list[str]:
    rows = line.get("partitions", ())
    offsets = [f"{topic}-{number} at {offset}" for topic, number, offset, *_ in rows if offset >= 0]
    missing = [row for row in rows if row[2] < 0]
    return [*offsets, *([f"no offset for {_grouped(missing)}"] if missing else [])]


def _describe_answer(line: Line, names: Names) -> list[str]:
    if line["error"] != NONE or not line.get("state"):
        return []
    members = names.of_members(each[0] for each in line["members"])
    return [line["state"], members or "no members"]


_ANSWERS: Mapping[str, Callable[[Line, Names], list[str]]] = {
    "join": _join_answer,
    "sync": _sync_answer,
    "leave": _leave_answer,
    "commit": _commit_answer,
    "fetch": _fetch_answer,
    "describe": _describe_answer,
    "consumer_describe": modern_words.description,
    "share_describe": modern_words.description,
    "streams_describe": modern_words.description,
    **dict.fromkeys(modern_words.HEARTBEATS, modern_words.heartbeat_answer),
}


# -- metadata, assignments and records -----------------------------------------------------------


def record(line: Line, names: Names) -> str:
    try:
        read = decode(a2b_base64(line["key"]), _bytes_or_none(line["value"]))
    except BadRecord:
        return "unreadable record"
    value = read.value
    if read.name == "GroupMetadata":
        return "tombstone of the group" if value is None else _group_record(value, names)
    if read.name != "OffsetCommit":
        modern = modern_words.record(read.name, read.key, value, names)
        return modern or f"{read.name} record"
    where = f"{read.key['topic']}-{read.key['partition']}"
    return f"tombstone of {where}" if value is None else f"offset of {where}: {value['offset']}"


def _group_record(value: Mapping[str, Any], names: Names) -> str:
    members = [
        f"{names.of_member(member['member_id'])} has {partitions(member['assignment'])}"
        for member in value["members"]
    ]
    owned = ", ".join(sorted(members)) or "no members"
    return f"group record: generation {value['generation']}, {owned}"


def _bytes_or_none(text: str | None) -> bytes | None:
    return None if text is None else a2b_base64(text)


def partitions(assignment: str | bytes) -> str:
    """The partitions of an assignment: bytes, or base64."""
    data = a2b_base64(assignment) if isinstance(assignment, str) else assignment
    if not data:
        return "nothing"
    try:
        return _listed(decode_assignment(data).partitions) or "no partitions"
    except BadRecord:
        return f"{len(data)} bytes"


def subscribed(metadata: str) -> str:
    """The topics of a subscription, and the partitions that its member owns."""
    data = a2b_base64(metadata)
    try:
        subscription = decode_subscription(data)
    except BadRecord:
        return f"{len(data)} bytes"
    owned = _listed(subscription.owned_partitions)
    topics = "+".join(subscription.topics)
    return f"{topics}, owns {owned}" if owned else topics


def _grouped(rows: Iterable[Sequence[Any]]) -> str:
    """Partitions by topic, of rows that begin with topic and partition: orders-0,1 payments-3."""
    topics: dict[str, list[int]] = {}
    for topic, number, *_ in rows:
        topics.setdefault(topic, []).append(number)
    return _listed(topics.items())


def _listed(pairs: Iterable[tuple[str, list[int]]]) -> str:
    return " ".join(f"{topic}-{','.join(map(str, numbers))}" for topic, numbers in pairs if numbers)
