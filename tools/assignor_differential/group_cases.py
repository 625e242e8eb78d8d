"""Random share and streams groups with a history, and Regroup's answers to such cases."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from coordinator_core.assignors import AssignorError, simple, sticky_tasks
from coordinator_core.assignors.simple import ShareSubscriber, ShareTopics
from coordinator_core.assignors.sticky_tasks import TaskAssignee, TaskSubtopology
from coordinator_core.assignors.sticky_tasks.model import Task, as_tasks
from coordinator_core.assignors.sticky_tasks.pairs import Choice
from coordinator_core.jvm.hash_codes import uuid_hash
from coordinator_core.jvm.hash_tables import HashTable, copied_ints
from coordinator_core.records.primitives import read_uuid

Case = dict[str, Any]
Answer = tuple[Any, str | None]  # assignment, error
ATTEMPTS = 50


def share_case(rnd: random.Random, name: str) -> Case:
    ids = [_uuid(rnd) for _ in range(rnd.choice([1, 1, 2, 3, 5, 8, 16]))]
    topics = [{"id": each, "partitions": rnd.choice([1, 2, 3, 5, 8, 13, 20])} for each in ids]
    homogeneous = rnd.random() < 0.5
    members = [
        {"id": _name(rnd), "topics": ids if homogeneous else _some(rnd, ids), "assigned": []}
        for _ in range(rnd.choice([1, 2, 3, 4, 6, 9, 14, 23, 60]))
    ]
    made: Case = {"case": name, "assignor": "simple", "homogeneous": homogeneous}
    made |= {"restricted": False, "topics": topics, "members": members}
    for _ in range(rnd.choice([0, 1, 1, 2, 3])):
        made = _changed_share(rnd, _with_assigned(rnd, made))
    return made


def _with_assigned(rnd: random.Random, case: Case) -> Case:
    answers, _ = share_answer(case, rnd.choice(["4.1", "4.4"]))
    members = [
        m | {"assigned": _read_back((answers or {}).get(m["id"], []))} for m in case["members"]
    ]
    return case | {"members": members}


def _read_back(rows: list[Any]) -> list[Any]:
    """As the coordinator reads a target assignment from its record: into a HashMap of HashSets."""
    table = HashTable[str, list[int]](uuid_hash)
    for topic, numbers in rows:
        table.put(topic, copied_ints(numbers).keys())
    return [[topic, numbers] for topic, numbers in table.items()]


def _changed_share(rnd: random.Random, case: Case) -> Case:
    topics, members = [dict(t) for t in case["topics"]], list(case["members"])
    ids = [topic["id"] for topic in topics]
    for _ in range(rnd.randint(0, 3)):
        change = rnd.choice(["leave", "join", "subscribe", "grow", "delete", "restrict"])
        if change == "leave" and len(members) > 1:
            members = [m for m in members if rnd.random() < 0.7] or members[:1]
        elif change == "join":
            members.append({"id": _name(rnd), "topics": members[0]["topics"], "assigned": []})
        elif change == "subscribe":
            chosen = _some(rnd, ids)
            some = rnd.random()
            members = [
                m | {"topics": chosen} if case["homogeneous"] or rnd.random() < some else m
                for m in members
            ]
        elif change == "grow":
            rnd.choice(topics)["partitions"] += rnd.randint(1, 9)
        elif change == "delete" and rnd.random() < 0.3:
            gone = rnd.choice(ids)
            members = [m | {"topics": [t for t in m["topics"] if t != gone]} for m in members]
        elif change == "restrict" and rnd.random() < 0.5:
            case = case | {"restricted": True}
            for topic in topics:
                if rnd.random() < 0.7:
                    topic["assignable"] = _assignable(rnd, topic["partitions"])
    rnd.shuffle(members)
    return case | {"topics": topics, "members": members}


def _assignable(rnd: random.Random, partitions: int) -> list[int]:
    return [*range(partitions)][: rnd.choice([partitions, partitions, partitions - 1, 0])]


def share_answer(case: Case, line: str) -> Answer:
    topics = ShareTopics(
        {each["id"]: each["partitions"] for each in case["topics"]},
        {each["id"]: each.get("assignable", ()) for each in case["topics"]}
        if case["restricted"]
        else None,
    )
    members = [ShareSubscriber(m["id"], m["topics"], dict(m["assigned"])) for m in case["members"]]
    assign = simple.assign if line == "4.4" else simple.assign_by_hash
    try:
        assignment = assign(topics, members, case["homogeneous"])
    except AssignorError as error:
        return None, error.kafka_name
    return {m: [[t, [*p]] for t, p in rows.items()] for m, rows in assignment.items()}, None


def tasks_case(rnd: random.Random, name: str) -> Case:
    subtopologies = [
        {
            "id": str(number),
            "tasks": rnd.choice([1, 2, 3, 5, 8, 13]),
            "stateful": rnd.random() < 0.6,
        }
        for number in range(rnd.choice([1, 1, 2, 3, 5, 12]))
    ]
    processes = [_name(rnd) for _ in range(rnd.choice([1, 2, 3, 5, 9]))]
    members = [_new_member(rnd, processes) for _ in range(rnd.choice([1, 2, 3, 5, 9, 14, 23]))]
    made: Case = {"case": name, "assignor": "sticky-tasks", "standbys": rnd.choice([0, 0, 1, 1, 2])}
    made |= {"subtopologies": sorted(subtopologies, key=lambda s: str(s["id"])), "members": members}
    for _ in range(rnd.choice([0, 1, 1, 2, 3])):
        made = _changed_tasks(rnd, _with_tasks(rnd, made), processes)
    return made


def _new_member(rnd: random.Random, processes: list[str]) -> dict[str, Any]:
    process = rnd.choice(processes)
    return {"id": _name(rnd), "process_id": process, "active": {}, "standby": {}, "offsets": {}}


def _with_tasks(rnd: random.Random, case: Case) -> Case:
    answers, _ = tasks_answer(case, rnd.choice(["4.1", "4.4"]))
    members = [
        m | {role: (answers or {})[m["id"]][role] for role in ("active", "standby")}
        for m in case["members"]
    ]
    return case | {"members": members}


def _changed_tasks(rnd: random.Random, case: Case, processes: list[str]) -> Case:
    subtopologies, members = [dict(s) for s in case["subtopologies"]], list(case["members"])
    for _ in range(rnd.randint(0, 3)):
        change = rnd.choice(["leave", "join", "process", "grow", "standbys", "offsets", "forget"])
        if change == "leave" and len(members) > 1:
            members = [m for m in members if rnd.random() < 0.7] or members[:1]
        elif change == "process" and len(members) > 1:
            gone = rnd.choice(members)["process_id"]
            members = [m for m in members if m["process_id"] != gone] or members[:1]
        elif change == "join":
            members += [_new_member(rnd, processes) for _ in range(rnd.randint(1, 3))]
        elif change == "grow":
            rnd.choice(subtopologies)["tasks"] += rnd.randint(1, 5)
        elif change == "standbys":
            case = case | {"standbys": rnd.choice([0, 1, 2, 3])}
        elif change == "offsets":
            members = [m | {"offsets": _offsets(rnd, subtopologies)} for m in members]
        elif change == "forget":
            members = [m | {"active": {}} if rnd.random() < 0.3 else m for m in members]
    rnd.shuffle(members)
    return case | {"subtopologies": subtopologies, "members": members}


def _offsets(rnd: random.Random, subtopologies: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        each["id"]: {str(n): rnd.randint(0, 5) for n in range(each["tasks"]) if rnd.random() < 0.2}
        for each in subtopologies
        if rnd.random() < 0.5
    }


def tasks_answer(
    case: Case, line: str, kafka: Mapping[str, Any] | None = None, attempt: int = 0
) -> Answer:
    """``kafka``: Kafka's answer, which decides where 4.1 chooses by chance; else ``attempt``."""
    subtopologies = [
        TaskSubtopology(each["id"], each["tasks"], each["stateful"])
        for each in case["subtopologies"]
    ]
    members = [_streams_member(member) for member in case["members"]]
    try:
        if line == "4.4":
            assignment = sticky_tasks.assign(subtopologies, members, case["standbys"])
        else:
            processes = {m.member_id: m.process_id for m in members}
            choose = _as_in(kafka or {}, processes, random.Random(attempt))
            assignment = sticky_tasks.assign_avoiding_pairs(
                subtopologies, members, case["standbys"], choose
            )
    except AssignorError as error:
        return None, error.kafka_name
    return {
        member: {"active": {**tasks.active}, "standby": {**tasks.standby}, "warmup": {}}
        for member, tasks in assignment.items()
    }, None


def is_kafkas(case: Case, kafka: Mapping[str, Any], line: str) -> bool:
    """Returns whether Regroup's answer is Kafka's, or one that Kafka's chance allows."""
    expected = kafka.get("assignment"), kafka.get("error")
    if case["assignor"] == "simple":
        return share_answer(case, line) == expected
    answers = (tasks_answer(case, line, expected[0], attempt) for attempt in range(ATTEMPTS))
    return expected in answers


def _as_in(kafka: Mapping[str, Any], process_of: Mapping[str, str], rnd: random.Random) -> Choice:
    """Prefers the member with the task in Kafka's answer, or its process: first the active one."""
    places: dict[Task, list[str]] = {}
    for role in ("active", "standby"):
        for member, tasks in kafka.items():
            for task in as_tasks(tasks[role]):
                places.setdefault(task, []).extend((member, process_of[member]))

    def choose(task: Task, candidates: Sequence[str]) -> str:
        preferred = [each for each in places.get(task, ()) if each in candidates]
        return preferred[0] if preferred else rnd.choice(candidates)

    return choose


def _streams_member(member: Mapping[str, Any]) -> TaskAssignee:
    offsets = {
        name: {int(number): offset_sum for number, offset_sum in sums.items()}
        for name, sums in member["offsets"].items()
    }
    return TaskAssignee(
        member["id"], member["process_id"], member["active"], member["standby"], offsets
    )


def _some(rnd: random.Random, ids: list[str]) -> list[str]:
    return [each for each in ids if rnd.random() < 0.6] or [rnd.choice(ids)]


def _name(rnd: random.Random) -> str:
    return str(UUID(int=rnd.getrandbits(128)))


def _uuid(rnd: random.Random) -> str:
    return read_uuid(rnd.randbytes(16), 0)[0]


GROUP_CASES = {"simple": share_case, "sticky-tasks": tasks_case}
