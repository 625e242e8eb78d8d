"""Steps of random scenarios of all group types, and the topics that the cluster has by then.

Members and topics have random ids, so that the orders of Java's hash tables count.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any
from uuid import UUID

Scenario = dict[str, Any]
Step = dict[str, Any]

FAULTS = ("NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT", "MESSAGE_TOO_LARGE")
PARTITION_COUNTS = (1, 2, 3, 4, 6, 12, 20)
INTERVALS_MS = (0, 1, 100, 400, 1000, 1000, 3000, 10000)
LONGER_THAN_SESSIONS_MS = 46000


class Steps:
    """Steps in time order. `names`: the topics that may exist."""

    racks: Sequence[str] = ()

    def __init__(self, rng: random.Random, name: str, names: Sequence[str]) -> None:
        self.rng, self._name, self._names = rng, name, names
        self.steps: list[Step] = []
        self.config: dict[str, Any] = {}
        self.kafka: dict[str, Any] = {}
        self.now_ms = 1000
        self.partitions: dict[str, int] = {}
        self._ids: dict[str, str] = {}

    def scenario(self) -> Scenario:
        config = self.config | ({"kafka": self.kafka} if self.kafka else {})
        return {
            "name": self._name,
            "about": "Random steps.",
            "config": config,
            "steps": self.steps,
        }

    def uuid(self) -> str:
        return str(UUID(int=self.rng.getrandbits(128)))

    def step(self, op: str, **fields: Any) -> str:
        """Add a step now; returns the reference to its answer."""
        step_id = f"s{len(self.steps) + 1}"
        self.steps.append({"at_ms": self.now_ms, "id": step_id, "op": op, **fields})
        return "@" + step_id

    def wait(self) -> None:
        self.now_ms += self.rng.choice(INTERVALS_MS)
        if self.rng.random() < 0.03:
            self.now_ms += LONGER_THAN_SESSIONS_MS
            self.step("wait", group="g")

    def mostly_last_epoch(self) -> Any:
        if self.rng.random() < 0.93:
            return "last"
        return self.rng.choice([1, 2, 3, 4, 5, 6, 9])

    # -- topics

    def create(self, *names: str) -> None:
        for name in names:
            self._ids[name] = self.uuid()
            self.partitions[name] = self.rng.choice(PARTITION_COUNTS)
        self.metadata(*names)

    def create_with(self, name: str, partitions: int) -> None:
        self._ids[name] = self.uuid()
        self.partitions[name] = partitions
        self.metadata(name)

    def metadata(self, *names: str, deleted: tuple[str, ...] = ()) -> None:
        rows = [self._row(name) for name in names]
        self.step("metadata", topics=rows, **({"deleted": list(deleted)} if deleted else {}))

    def _row(self, name: str) -> Step:
        partitions = self.partitions[name]
        row: Step = {"name": name, "id": self._ids[name], "partitions": partitions}
        if self.racks:
            count = min(2, len(self.racks))
            row["racks"] = [self.rng.sample(self.racks, count) for _ in range(partitions)]
        return row

    def change_topics(self) -> None:
        rng = self.rng
        absent = [name for name in self._names if name not in self.partitions]
        change = rng.random()
        if absent and (change < 0.4 or not self.partitions):
            self.create(rng.choice(absent))
        elif change < 0.75:
            name = rng.choice([*self.partitions])
            self.partitions[name] += rng.randint(1, 4)
            self.metadata(name)
        else:
            self.remove(rng.choice([*self.partitions]))

    def remove(self, name: str) -> None:
        del self.partitions[name]
        self.metadata(deleted=(name,))

    # -- actions of others

    def disturb(self, group_type: str) -> None:
        """A step of another client, an administrator or a broker."""
        kinds = ["look", "look", "list", "topics", "topics", "fault", "reload", "other"]
        kind = self.rng.choice(kinds)
        if kind == "look":
            self.step(f"{group_type}_describe", group="g")
        elif kind == "list":
            self.step("list")
        elif kind == "topics":
            self.change_topics()
        elif kind == "fault" and self.rng.random() < 0.5:
            self.step("fault", group="g", append_error=self.rng.choice(FAULTS))
        elif kind == "reload" and self.rng.random() < 0.3:
            self.step("reload")
        elif kind == "other":
            self.other(self.rng.choice(["delete", "delete", "join", "commit", "fetch", "consumer"]))

    def other(self, kind: str) -> None:
        """A request of another group type, or one that all types answer."""
        if kind == "delete":
            self.step("delete", group="g")
        elif kind == "join":
            fields = {"session_timeout_ms": 30000, "rebalance_timeout_ms": 60000, "member": ""}
            protocols = [["range", "AAMAAAABAAFh/////wAAAAD//////////////w=="]]
            self.step("join", group="g", protocol_type="consumer", protocols=protocols, **fields)
        elif kind == "commit":
            offsets = [[self.rng.choice(self._names), 0, 10, ""]]
            self.step("commit", group="g", member="", generation=-1, offsets=offsets)
        elif kind == "fetch":
            self.step("fetch", group="g", offsets=[[self._names[0], 0]])
        else:
            fields = {"rebalance_timeout_ms": 60000, "topics": [self._names[0]], "owned": []}
            member = self.uuid()
            self.step("consumer_heartbeat", group="g", member=member, member_epoch=0, **fields)
