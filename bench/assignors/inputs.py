"""The benchmark's inputs, the same for every peer: one JSON file per group."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coordinator_core.assignors import ASSIGNORS, Member, Topics

SIZES = [(10, 10, 12), (100, 50, 40), (1000, 100, 200), (2000, 1000, 10)]
CHANGES = ["fresh", "leave", "join"]


def names() -> list[str]:
    return [
        f"{members}x{topics}x{partitions}-{kind}-{change}"
        for members, topics, partitions in SIZES
        for kind in ("equal", "unequal")
        for change in CHANGES
    ]


def write(folder: Path) -> None:
    """Writes the inputs that do not exist yet; their content never changes."""
    folder.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        for kind in ("equal", "unequal"):
            for case in _group(*size, kind):
                path = folder / f"{case['case']}.json"
                if not path.exists():
                    path.write_text(json.dumps(case) + "\n")


def _group(members: int, topics: int, partitions: int, kind: str) -> Iterator[dict[str, Any]]:
    rnd = random.Random(f"{members}/{topics}/{partitions}/{kind}")
    counts = {f"topic-{i:04}": partitions for i in range(topics)}
    named = list(counts)
    subscriptions = {
        f"member-{i:04}": named if kind == "equal" else sorted(rnd.sample(named, topics // 2))
        for i in range(members)
    }
    leaver = f"member-{members // 2:04}"
    others = {member: named for member, named in subscriptions.items() if member != leaver}
    name = f"{members}x{topics}x{partitions}-{kind}"
    yield _case(f"{name}-fresh", counts, subscriptions, {})
    yield _case(f"{name}-leave", counts, others, subscriptions)
    yield _case(f"{name}-join", counts, subscriptions, others)


def _case(
    name: str,
    counts: dict[str, int],
    subscriptions: dict[str, list[str]],
    before: dict[str, list[str]],
) -> dict[str, Any]:
    uniform = ASSIGNORS["uniform"]
    owned = uniform(
        Topics(counts),
        [Member(member_id=member, topics=topics) for member, topics in before.items()],
    )
    return {
        "case": name,
        "assignor": "sticky",
        "topics": {topic: {"partitions": n, "racks": None} for topic, n in counts.items()},
        "members": [
            {
                "id": member,
                "instance_id": None,
                "rack": None,
                "topics": topics,
                "owned": owned.get(member, []),
                "generation": 1 if member in owned else None,
            }
            for member, topics in subscriptions.items()
        ],
    }
