"""Random groups with a history: owned partitions, members that joined or left, changed topics."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from coordinator_core.assignors import ASSIGNORS, AssignorError, Topics
from coordinator_core.assignors.subscriptions import as_sent
from tools.assignor_differential.group_cases import GROUP_CASES

Case = dict[str, Any]

ZONES = ["zone-a", "zone-b", "zone-c", "zone-d"]
STICKY = ("sticky", "cooperative-sticky")
SERVER = ("uniform", "server-range")
WEIGHTS = {
    "sticky": 8,
    "cooperative-sticky": 8,
    "range": 3,
    "uniform": 3,
    "roundrobin": 2,
    "server-range": 1,
    "simple": 4,
    "sticky-tasks": 4,
}


def case(seed: int, number: int) -> Case:
    """Returns a case that depends on the seed and the number only."""
    rnd = random.Random(f"{seed}/{number}")
    assignor = rnd.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    name = f"{seed}-{number}"
    if assignor in GROUP_CASES:
        return GROUP_CASES[assignor](rnd, name)
    return _Maker(rnd, assignor).case(name)


class _Maker:
    def __init__(self, rnd: random.Random, assignor: str) -> None:
        self._rnd, self._assignor = rnd, assignor
        self._client = assignor not in SERVER
        self._racks = self._client and assignor != "roundrobin" and rnd.random() < 0.3
        self._equal = rnd.random() < 0.4
        self._names: set[str] = set()

    def case(self, name: str) -> Case:
        rnd = self._rnd
        topics = {
            self._name("t.-_T"): self._topic(rnd.choice([1, 2, 3, 5, 8, 13, 20]))
            for _ in range(rnd.choice([1, 2, 3, 5, 8, 20]))
        }
        members = [
            self._member(list(topics))
            for _ in range(rnd.choice([1, 2, 3, 4, 6, 9, 14, 23, 30, 45]))
        ]
        if rnd.random() < 0.8:
            self._assign_before(topics, members)
            topics, members = self._changed(topics, members)
        fields: Case = {"case": name, "assignor": self._assignor, "topics": topics}
        if self._assignor == "cooperative-sticky" and rnd.random() < 0.5:
            fields["rounds"] = 2
        fields["map_order"] = rnd.choice(["hash", "hash", "given"])
        return fields | {"members": members}

    def _name(self, firsts: str) -> str:
        while True:
            letters = "0123456789abcdefABCDEF-._"
            if self._client and firsts.startswith("c") and self._rnd.random() < 0.02:
                # The order of code units differs from the order of code points.
                letters += "é\uff5e\U0001f600"
            word = "".join(self._rnd.choice(letters) for _ in range(self._rnd.randint(1, 7)))
            name = self._rnd.choice(firsts) + word
            if name not in self._names:
                self._names.add(name)
                return name

    def _topic(self, partitions: int) -> dict[str, Any]:
        racks = [self._replicas() for _ in range(partitions)] if self._racks else None
        return {"partitions": partitions, "racks": racks}

    def _replicas(self) -> list[str | None]:
        racks: list[str | None] = list(self._rnd.sample(ZONES, self._rnd.randint(1, 3)))
        return [None, *racks[1:]] if self._rnd.random() < 0.02 else racks

    def _member(self, topics: list[str]) -> dict[str, Any]:
        rnd = self._rnd
        return {
            "id": self._name("cCmx"),
            "instance_id": self._name("i") if rnd.random() < 0.2 else None,
            "rack": rnd.choice([*ZONES, *ZONES, None, ""]) if self._racks else None,
            "topics": self._subscription(topics),
            "owned": [],
            "generation": None,
        }

    def _subscription(self, topics: list[str]) -> list[str]:
        if self._equal:
            return list(topics)
        if self._client and self._rnd.random() < 0.03:
            return []
        return [t for t in topics if self._rnd.random() < 0.6] or [self._rnd.choice(topics)]

    def _assign_before(self, topics: Mapping[str, Any], members: list[dict[str, Any]]) -> None:
        """Owned partitions of all or some members, from this assignor or another one."""
        rnd = self._rnd
        present = [member for member in members if rnd.random() < 0.85] or members[:1]
        before = self._assignor if rnd.random() < 0.7 else rnd.choice(["range", "uniform"])
        counts = {topic: info["partitions"] for topic, info in topics.items()}
        try:
            assignment = ASSIGNORS[before](
                Topics(counts), [as_sent(before, m["id"], m["topics"]) for m in present]
            )
        except AssignorError:
            return
        generation = rnd.randint(1, 9)
        for member in present:
            member["owned"] = [list(tp) for tp in assignment.get(member["id"], [])]
            member["generation"] = generation

    def _changed(
        self, topics: dict[str, Any], members: list[dict[str, Any]]
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        rnd = self._rnd
        for _ in range(rnd.randint(0, 3)):
            change = rnd.choice(["leave", "claims", "late", "old", "subscribe", "grow", "delete"])
            if change == "leave" and len(members) > 1:
                members.remove(rnd.choice(members))
            elif change == "claims" and self._assignor in STICKY and len(members) > 1:
                self._claim_twice(members)
            elif change == "late" and self._assignor in STICKY:
                self._lag_behind(rnd.choice(members))
            elif change == "old" and self._client:
                rnd.choice(members)["version"] = rnd.choice([0, 1, 2])
            elif change == "subscribe" and not self._equal:
                rnd.choice(members)["topics"] = self._subscription(list(topics))
            elif change == "grow":
                topic = rnd.choice(list(topics))
                topics[topic] = self._grown(topics[topic])
            elif change == "delete" and self._client and len(topics) > 1:
                del topics[rnd.choice(list(topics))]
        rnd.shuffle(members)
        return topics, members

    def _grown(self, topic: dict[str, Any]) -> dict[str, Any]:
        more = self._topic(self._rnd.randint(1, 5))
        racks = topic["racks"] + more["racks"] if topic["racks"] else None
        return {"partitions": topic["partitions"] + more["partitions"], "racks": racks}

    def _claim_twice(self, members: list[dict[str, Any]]) -> None:
        owner, other = self._rnd.sample(members, 2)
        if owner["owned"]:
            count = self._rnd.randint(1, len(owner["owned"]))
            more = self._rnd.sample(owner["owned"], count)
            other["owned"] += [tp for tp in more if tp not in other["owned"]]

    def _lag_behind(self, member: dict[str, Any]) -> None:
        if member["generation"] is not None:
            behind = member["generation"] - self._rnd.randint(1, 2)
            member["generation"] = behind if behind >= 0 else None
