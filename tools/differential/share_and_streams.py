"""Random scenarios of share and streams groups."""

from __future__ import annotations

import random
from typing import Any

from tools.differential.group_steps import Scenario, Steps

TOPICS = ("a", "b", "c", "d")


class _Member:
    def __init__(self, steps: Steps) -> None:
        self.id = steps.uuid()
        self.instance_id: str | None = None
        self.has_joined = False


# -- share groups


def share_scenario(rng: random.Random, name: str) -> Scenario:
    steps = Steps(rng, name, TOPICS)
    if rng.random() < 0.3:
        steps.kafka["group.share.assignment.interval.ms"] = rng.choice([0, 0, 500, 5000])
    if rng.random() < 0.15:
        steps.kafka["group.share.max.size"] = rng.choice([1, 2, 3])
    steps.create(*rng.sample(TOPICS, rng.randint(1, 3)))
    members = [_Member(steps) for _ in range(rng.choice([1, 2, 2, 3, 3, 5, 9]))]
    for _ in range(rng.choice([15, 30, 60])):
        steps.wait()
        if rng.random() < 0.18:
            steps.disturb("share")
        else:
            _share_heartbeat(steps, rng.choice(members))
    steps.step("share_describe", group="g")
    return steps.scenario()


def _share_heartbeat(steps: Steps, member: _Member) -> None:
    rng = steps.rng
    fields: dict[str, Any] = {"group": "g", "member": member.id}
    topics = rng.sample(TOPICS, rng.choice([1, 1, 2, 3]))
    change = rng.random()
    if not member.has_joined or change < 0.05:
        member.has_joined = True
        steps.step("share_heartbeat", member_epoch=0, topics=topics, **fields)
    elif change < 0.13:
        member.has_joined = False
        steps.step("share_heartbeat", member_epoch=-1, **fields)
    elif change < 0.25:
        epoch = steps.mostly_last_epoch()
        steps.step("share_heartbeat", member_epoch=epoch, topics=topics, **fields)
    elif change < 0.28:
        steps.step("share_heartbeat", member_epoch="last", rack_id=rng.choice(["r", ""]), **fields)
    else:
        steps.step("share_heartbeat", member_epoch=steps.mostly_last_epoch(), **fields)


# -- streams groups


def streams_scenario(rng: random.Random, name: str) -> Scenario:
    steps = Steps(rng, name, TOPICS)
    _configure_streams(steps)
    steps.create(*rng.sample(TOPICS, rng.randint(1, 4)))
    topology = _topology(steps)
    processes = ["p1", "p2", "p3"][: rng.randint(1, 3)]
    members = [_Member(steps) for _ in range(rng.choice([1, 2, 2, 3, 3, 5, 8]))]
    for number, member in enumerate(members):
        if rng.random() < 0.25:
            member.instance_id = f"i{number // 2 if rng.random() < 0.3 else number}"
    for _ in range(rng.choice([15, 30, 60])):
        steps.wait()
        if rng.random() < 0.15:
            steps.disturb("streams")
        elif rng.random() < 0.1:
            _create_internal(steps, topology)
        else:
            _streams_heartbeat(steps, rng.choice(members), topology, processes)
    steps.step("streams_describe", group="g")
    return steps.scenario()


def _configure_streams(steps: Steps) -> None:
    rng, kafka = steps.rng, steps.kafka
    if rng.random() < 0.6:
        kafka["group.streams.initial.rebalance.delay.ms"] = rng.choice([0, 0, 500])
    if rng.random() < 0.4:
        kafka["group.streams.num.standby.replicas"] = rng.choice([1, 1, 2])
    if rng.random() < 0.3:
        kafka["group.streams.assignment.interval.ms"] = rng.choice([0, 0, 500, 5000])
    if rng.random() < 0.1:
        kafka["group.streams.max.size"] = rng.choice([1, 2, 3])


def _topology(steps: Steps) -> dict[str, Any]:
    """Mostly of topics that exist; subtopologies may be joined by repartition topics."""
    rng = steps.rng
    subtopologies: list[dict[str, Any]] = []
    for number in range(rng.choice([1, 1, 2, 3])):
        names = [*steps.partitions] if rng.random() < 0.85 else [*TOPICS]
        sources = rng.sample(names, min(len(names), rng.choice([1, 1, 2])))
        each: dict[str, Any] = {"id": str(number), "source_topics": sources}
        if rng.random() < 0.5:
            each["changelog_topics"] = [[f"log{number}", 0]]
        if number and rng.random() < 0.6:
            rows = [[f"rep{number}", rng.choice([0, 0, 0, 4])]]
            each["repartition_source_topics"] = rows
            subtopologies[-1]["repartition_sink_topics"] = [f"rep{number}"]
            each["source_topics"] = sources if rng.random() < 0.4 else []
        if rng.random() < 0.2:
            repartition = [0] if each.get("repartition_source_topics") else []
            indexes = [*range(len(each["source_topics"]))]
            group = {"source_topics": indexes, "repartition_source_topics": repartition}
            each["copartition_groups"] = [group]
        subtopologies.append(each)
    return {"epoch": rng.choice([0, 0, 1]), "subtopologies": subtopologies}


def _create_internal(steps: Steps, topology: dict[str, Any]) -> None:
    """One or all internal topics appear, mostly with the partitions that they need."""
    tasks = 1
    for each in topology["subtopologies"]:
        counts = [steps.partitions.get(name, 1) for name in each["source_topics"]]
        rows = each.get("repartition_source_topics", [])
        counts += [count or tasks for _, count in rows]
        for name, count in rows:
            _create(steps, name, count or tasks)
        tasks = max(counts)
        for name, _ in each.get("changelog_topics", []):
            _create(steps, name, tasks)


def _create(steps: Steps, name: str, partitions: int) -> None:
    if name not in steps.partitions and steps.rng.random() < 0.8:
        steps.create_with(name, partitions if steps.rng.random() < 0.9 else partitions + 1)


def _streams_heartbeat(
    steps: Steps, member: _Member, topology: dict[str, Any], processes: list[str]
) -> None:
    rng = steps.rng
    fields: dict[str, Any] = {"group": "g", "member": member.id}
    if member.instance_id is not None:
        fields["instance_id"] = member.instance_id
    change = rng.random()
    if not member.has_joined or change < 0.05:
        member.has_joined = True
        _join(steps, topology, processes, fields)
    elif change < 0.13:
        member.has_joined = False
        epoch = -2 if member.instance_id is not None and rng.random() < 0.6 else -1
        steps.step("streams_heartbeat", member_epoch=epoch, **fields)
        if epoch == -2 and rng.random() < 0.7:
            member.id = steps.uuid()
    else:
        if rng.random() < 0.85:
            fields["owned"] = "last" if rng.random() < 0.95 else []
        if rng.random() < 0.03:
            fields["process_id"] = rng.choice(processes)
        if rng.random() < 0.02:
            fields["shutdown"] = True
        steps.step("streams_heartbeat", member_epoch=steps.mostly_last_epoch(), **fields)


def _join(
    steps: Steps, topology: dict[str, Any], processes: list[str], fields: dict[str, Any]
) -> None:
    rng = steps.rng
    if rng.random() < 0.06:
        topology = topology | {"epoch": rng.choice([0, 1, 2])}
    if rng.random() < 0.1:
        fields["endpoint"] = ["h", 9090]
    if rng.random() < 0.1:
        fields["client_tags"] = [["zone", rng.choice(["z1", "z2"])]]
    timeout_ms = rng.choice([5000, 60000, 60000])
    fields |= {"rebalance_timeout_ms": timeout_ms, "process_id": rng.choice(processes)}
    steps.step("streams_heartbeat", member_epoch=0, owned=[], topology=topology, **fields)
