"""Random scenarios of share and streams groups, in the format that ``regroup scenario run`` plays.

    python -m tools.group_scenarios --kind streams --seed 1 --count 200 --out DIR

Members and topics have random ids, so that the orders of Java's hash tables count.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

Scenario = dict[str, Any]
FAULTS = ("NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT", "MESSAGE_TOO_LARGE")
TOPICS = ("a", "b", "c", "d")
INTERVALS_MS = (0, 1, 100, 400, 1000, 1000, 3000, 10000)


def uuid(rnd: random.Random) -> str:
    return str(UUID(int=rnd.getrandbits(128)))


class _Maker:
    """Steps in time order, and what the cluster and the members are meant to have by then."""

    def __init__(self, rnd: random.Random, name: str) -> None:
        self.rnd, self._name = rnd, name
        self.steps: list[dict[str, Any]] = []
        self.kafka: dict[str, Any] = {}
        self.now_ms = 1000
        self.partitions: dict[str, int] = {}
        self._ids: dict[str, str] = {}

    def scenario(self) -> Scenario:
        about = "Random steps."
        config = {"kafka": self.kafka} if self.kafka else {}
        return {"name": self._name, "about": about, "config": config, "steps": self.steps}

    def step(self, op: str, **fields: Any) -> None:
        self.steps.append(
            {"at_ms": self.now_ms, "id": f"s{len(self.steps) + 1}", "op": op, **fields}
        )

    def create(self, *names: str) -> None:
        for name in names:
            self._ids[name] = uuid(self.rnd)
            self.partitions[name] = self.rnd.choice([1, 2, 3, 4, 6, 12, 20])
        self.metadata(*names)

    def metadata(self, *names: str, deleted: tuple[str, ...] = ()) -> None:
        rows = [
            {"name": name, "id": self._ids[name], "partitions": self.partitions[name]}
            for name in names
        ]
        self.step("metadata", topics=rows, **({"deleted": list(deleted)} if deleted else {}))

    def change_topics(self) -> None:
        rnd = self.rnd
        present, absent = [*self.partitions], [t for t in TOPICS if t not in self.partitions]
        change = rnd.random()
        if absent and (change < 0.4 or not present):
            self.create(rnd.choice(absent))
        elif change < 0.75:
            name = rnd.choice(present)
            self.partitions[name] += rnd.randint(1, 4)
            self.metadata(name)
        else:
            name = rnd.choice(present)
            del self.partitions[name]
            self.metadata(deleted=(name,))

    def wait(self) -> None:
        self.now_ms += self.rnd.choice(INTERVALS_MS)
        if self.rnd.random() < 0.03:
            self.now_ms += 46000
            self.step("wait", group="g")

    def disturb(self, group_type: str) -> None:
        """Something that other clients, administrators or brokers do."""
        rnd = self.rnd
        kind = rnd.choice(["look", "look", "list", "topics", "topics", "fault", "reload", "other"])
        if kind == "look":
            self.step(f"{group_type}_describe", group="g")
        elif kind == "list":
            self.step("list", group="g")
        elif kind == "topics":
            self.change_topics()
        elif kind == "fault" and rnd.random() < 0.5:
            self.step("fault", group="g", append_error=rnd.choice(FAULTS))
        elif kind == "reload" and rnd.random() < 0.3:
            self.step("reload")
        elif kind == "other":
            self._other(rnd.choice(["delete", "delete", "join", "commit", "fetch", "consumer"]))

    def _other(self, kind: str) -> None:
        if kind == "delete":
            self.step("delete", group="g")
        elif kind == "join":
            fields = {"session_timeout_ms": 30000, "rebalance_timeout_ms": 60000, "member": ""}
            protocols = [["range", "AAMAAAABAAFh/////wAAAAD//////////////w=="]]
            self.step("join", group="g", protocol_type="consumer", protocols=protocols, **fields)
        elif kind == "commit":
            offsets = [[self.rnd.choice(TOPICS), 0, 10, ""]]
            self.step("commit", group="g", member="", generation=-1, offsets=offsets)
        elif kind == "fetch":
            self.step("fetch", group="g", offsets=[["a", 0]])
        else:
            fields = {"rebalance_timeout_ms": 60000, "topics": ["a"], "owned": []}
            member = uuid(self.rnd)
            self.step("consumer_heartbeat", group="g", member=member, member_epoch=0, **fields)

    def epoch(self, members: list[Any]) -> Any:
        """Mostly the last epoch."""
        if self.rnd.random() < 0.93:
            return "last"
        return self.rnd.choice([1, 2, 3, 4, 5, 6, 9])


class _Member:
    def __init__(self, maker: _Maker) -> None:
        self.id = uuid(maker.rnd)
        self.instance_id: str | None = None
        self.has_joined = False


# -- share groups


def share_scenario(rnd: random.Random, name: str) -> Scenario:
    maker = _Maker(rnd, name)
    if rnd.random() < 0.3:
        maker.kafka["group.share.assignment.interval.ms"] = rnd.choice([0, 0, 500, 5000])
    if rnd.random() < 0.15:
        maker.kafka["group.share.max.size"] = rnd.choice([1, 2, 3])
    maker.create(*rnd.sample(TOPICS, rnd.randint(1, 3)))
    members = [_Member(maker) for _ in range(rnd.choice([1, 2, 2, 3, 3, 5, 9]))]
    for _ in range(rnd.choice([15, 30, 60])):
        maker.wait()
        if rnd.random() < 0.18:
            maker.disturb("share")
        else:
            _share_heartbeat(maker, rnd.choice(members), members)
    maker.step("share_describe", group="g")
    return maker.scenario()


def _share_heartbeat(maker: _Maker, member: _Member, members: list[_Member]) -> None:
    rnd = maker.rnd
    fields: dict[str, Any] = {"group": "g", "member": member.id}
    topics = rnd.sample(TOPICS, rnd.choice([1, 1, 2, 3]))
    change = rnd.random()
    if not member.has_joined or change < 0.05:
        member.has_joined = True
        maker.step("share_heartbeat", member_epoch=0, topics=topics, **fields)
    elif change < 0.13:
        member.has_joined = False
        maker.step("share_heartbeat", member_epoch=-1, **fields)
    elif change < 0.25:
        epoch = maker.epoch(members)
        maker.step("share_heartbeat", member_epoch=epoch, topics=topics, **fields)
    elif change < 0.28:
        maker.step("share_heartbeat", member_epoch="last", rack_id=rnd.choice(["r", ""]), **fields)
    else:
        maker.step("share_heartbeat", member_epoch=maker.epoch(members), **fields)


# -- streams groups


def streams_scenario(rnd: random.Random, name: str) -> Scenario:
    maker = _Maker(rnd, name)
    _configure_streams(maker)
    maker.create(*rnd.sample(TOPICS, rnd.randint(1, 4)))
    topology = _topology(maker)
    processes = ["p1", "p2", "p3"][: rnd.randint(1, 3)]
    members = [_Member(maker) for _ in range(rnd.choice([1, 2, 2, 3, 3, 5, 8]))]
    for number, member in enumerate(members):
        if rnd.random() < 0.25:
            member.instance_id = f"i{number // 2 if rnd.random() < 0.3 else number}"
    for _ in range(rnd.choice([15, 30, 60])):
        maker.wait()
        if rnd.random() < 0.15:
            maker.disturb("streams")
        elif rnd.random() < 0.1:
            _create_internal(maker, topology)
        else:
            _streams_heartbeat(maker, rnd.choice(members), topology, processes)
    maker.step("streams_describe", group="g")
    return maker.scenario()


def _configure_streams(maker: _Maker) -> None:
    rnd, kafka = maker.rnd, maker.kafka
    if rnd.random() < 0.6:
        kafka["group.streams.initial.rebalance.delay.ms"] = rnd.choice([0, 0, 500])
    if rnd.random() < 0.4:
        kafka["group.streams.num.standby.replicas"] = rnd.choice([1, 1, 2])
    if rnd.random() < 0.3:
        kafka["group.streams.assignment.interval.ms"] = rnd.choice([0, 0, 500, 5000])
    if rnd.random() < 0.1:
        kafka["group.streams.max.size"] = rnd.choice([1, 2, 3])


def _topology(maker: _Maker) -> dict[str, Any]:
    """Mostly of topics that exist; subtopologies may be joined by repartition topics."""
    rnd = maker.rnd
    subtopologies: list[dict[str, Any]] = []
    for number in range(rnd.choice([1, 1, 2, 3])):
        names = [*maker.partitions] if rnd.random() < 0.85 else [*TOPICS]
        sources = rnd.sample(names, min(len(names), rnd.choice([1, 1, 2])))
        each: dict[str, Any] = {"id": str(number), "source_topics": sources}
        if rnd.random() < 0.5:
            each["changelog_topics"] = [[f"log{number}", 0]]
        if number and rnd.random() < 0.6:
            rows = [[f"rep{number}", rnd.choice([0, 0, 0, 4])]]
            each["repartition_source_topics"] = rows
            subtopologies[-1]["repartition_sink_topics"] = [f"rep{number}"]
            each["source_topics"] = sources if rnd.random() < 0.4 else []
        if rnd.random() < 0.2:
            repartition = [0] if each.get("repartition_source_topics") else []
            indexes = [*range(len(each["source_topics"]))]
            group = {"source_topics": indexes, "repartition_source_topics": repartition}
            each["copartition_groups"] = [group]
        subtopologies.append(each)
    return {"epoch": rnd.choice([0, 0, 1]), "subtopologies": subtopologies}


def _create_internal(maker: _Maker, topology: dict[str, Any]) -> None:
    """One or all internal topics appear, mostly with the partitions that they need."""
    tasks = 1
    for each in topology["subtopologies"]:
        counts = [maker.partitions.get(name, 1) for name in each["source_topics"]]
        rows = each.get("repartition_source_topics", [])
        counts += [count or tasks for _, count in rows]
        for name, count in rows:
            _create(maker, name, count or tasks)
        tasks = max(counts)
        for name, _ in each.get("changelog_topics", []):
            _create(maker, name, tasks)


def _create(maker: _Maker, name: str, partitions: int) -> None:
    if name not in maker.partitions and maker.rnd.random() < 0.8:
        maker._ids[name] = uuid(maker.rnd)
        maker.partitions[name] = partitions if maker.rnd.random() < 0.9 else partitions + 1
        maker.metadata(name)


def _streams_heartbeat(
    maker: _Maker, member: _Member, topology: dict[str, Any], processes: list[str]
) -> None:
    rnd = maker.rnd
    fields: dict[str, Any] = {"group": "g", "member": member.id}
    if member.instance_id is not None:
        fields["instance_id"] = member.instance_id
    change = rnd.random()
    if not member.has_joined or change < 0.05:
        member.has_joined = True
        _join(maker, topology, processes, fields)
    elif change < 0.13:
        member.has_joined = False
        epoch = -2 if member.instance_id is not None and rnd.random() < 0.6 else -1
        maker.step("streams_heartbeat", member_epoch=epoch, **fields)
        if epoch == -2 and rnd.random() < 0.7:
            member.id = uuid(rnd)
    else:
        if rnd.random() < 0.85:
            fields["owned"] = "last" if rnd.random() < 0.95 else []
        if rnd.random() < 0.03:
            fields["process_id"] = rnd.choice(processes)
        if rnd.random() < 0.02:
            fields["shutdown"] = True
        maker.step("streams_heartbeat", member_epoch=maker.epoch([]), **fields)


def _join(
    maker: _Maker, topology: dict[str, Any], processes: list[str], fields: dict[str, Any]
) -> None:
    rnd = maker.rnd
    if rnd.random() < 0.06:
        topology = topology | {"epoch": rnd.choice([0, 1, 2])}
    if rnd.random() < 0.1:
        fields["endpoint"] = ["h", 9090]
    if rnd.random() < 0.1:
        fields["client_tags"] = [["zone", rnd.choice(["z1", "z2"])]]
    timeout_ms = rnd.choice([5000, 60000, 60000])
    fields |= {"rebalance_timeout_ms": timeout_ms, "process_id": rnd.choice(processes)}
    maker.step("streams_heartbeat", member_epoch=0, owned=[], topology=topology, **fields)


KINDS = {"share": share_scenario, "streams": streams_scenario}


def main(
    kind: Annotated[str, typer.Option(help="share or streams.")],
    out: Annotated[Path, typer.Option(help="Folder for the scenarios.")],
    seed: Annotated[int, typer.Option(help="Seed of the scenarios.")] = 1,
    count: Annotated[int, typer.Option(help="Number of scenarios.")] = 100,
) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        name = f"{kind}-{seed}-{number}"
        scenario = KINDS[kind](random.Random(name), name)
        (out / f"{name}.json").write_text(json.dumps(scenario, indent=1), "utf-8")


if __name__ == "__main__":
    typer.run(main)
