"""Texts of docs/situations for consumer, share and streams groups; tools.situations writes them.

A situation is a scenario (examples/modern-groups) with a title, an explanation, and the eras to
draw it in.  Real brokers were asked the same requests (``tools.broker_requests``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.diagram import as_mermaid, draw, record_scenario
from coordinator_core.scenarios.group_types import play_scenario
from coordinator_core.scenarios.scenario import derived_ids
from tools.broker_requests.comparison import VERSIONS, answers_of, differences
from tools.situations import ROOT, Situation, heading, index_line

SITUATIONS = ROOT / "examples" / "modern-groups"
EPOCHS = frozenset({"member_epoch", "epoch", "assignment_epoch", "generation"})
INDEX = "modern-groups.md"

HEAD = """# Situations of modern groups

What the coordinator does in consumer groups (KIP-848), share groups (KIP-932) and streams groups
(KIP-1071), drawn from runnable scenarios ([examples/modern-groups](../../examples/modern-groups)).
[Situations 1 to 40](README.md) show classic groups.

`python -m tools.situations` generates these pages. Each diagram shows the answers of the
coordinator model; below it are the versions of real brokers that gave the same answers to the same
requests and wrote the same records. `make -C tools broker-requests` asks them again.
`regroup scenario diagram` prints the diagrams as text:

    .venv/bin/regroup scenario diagram --era 4.4 examples/modern-groups/52-online-upgrade.json

How to read the diagrams: `a`, `b` and `c` are members, and their member ids; `a2` is a second id.
"Epoch" in a request or an answer is the member's epoch: 0 joins, -1 leaves, -2 leaves for a while.
A request and its answer share an arrow if no record was written. An answer without "assigned" means
that the assignment has not changed. "Owns" lists the partitions that the member says it owns; a
heartbeat without "owns" does not list them. Notes show the group's state, group epoch and
assignment epoch, and the members that are not yet at the assignment epoch or not STABLE. Times are
virtual and begin at 1 s. Members send heartbeats only where they matter for the situation.

Rules that apply in most situations:

- A change bumps the group epoch. A heartbeat computes the target assignment of that epoch, at most
  once per assignment interval (since 4.3, KIP-1263; 1 s by default).
- Each member moves to its target by its own heartbeats: it first gives up what its target does not
  contain, then takes what is free.
- A member's epoch is the epoch of the last target that the member has reached.
- In era 4.1 the first epoch of a group is 1, in 4.4 it is 2.

"""


@cache
def situations() -> tuple[Situation, ...]:
    """All situations, in the order of their numbers."""
    return tuple(json.loads(path.read_bytes()) for path in sorted(SITUATIONS.glob("*.json")))


def pages() -> dict[str, str]:
    """The index and a page per situation, by the file's name."""
    index = HEAD + "".join(map(index_line, situations()))
    return {INDEX: index, **{f"{each['name']}.md": _page(each) for each in situations()}}


def _page(situation: Situation) -> str:
    parts = [f"# {heading(situation)}\n\n{situation['about']}\n", *_eras(situation)]
    return "".join([*parts, _asked(situation)])


def _eras(situation: Situation) -> Iterator[str]:
    file = f"examples/modern-groups/{situation['name']}.json"
    for era, text in situation["eras"].items():
        drawn = as_mermaid(draw(record_scenario(situation, ERAS[era], derived_ids())))
        yield f"\n**Era {era}**{_like_4_1(situation)}{': ' if text else ''}{text}\n\n"
        yield f"`regroup scenario diagram --era {era} {file}`\n\n```mermaid\n{drawn}```\n"
    for era, text in situation.get("remarks", {}).items():
        yield f"\n**Era {era}**, not drawn: {text}\n"


def _like_4_1(situation: Situation) -> str:
    """What the drawn era 4.4 has in common with 4.1, if that is neither drawn nor described."""
    if "4.1" in situation["eras"] or "4.1" in situation.get("remarks", {}):
        return ""
    return {0: " (the same answers in 4.1)", 1: " (in 4.1 the same, with epochs lower by one)"}[
        epochs_above_4_1(situation)
    ]


def epochs_above_4_1(situation: Situation) -> int | None:
    """How much higher the epochs of era 4.4 are, or None if answers differ in anything else."""
    old = _answers(situation, "4.1", 0)
    return next((by for by in (0, 1) if _answers(situation, "4.4", by) == old), None)


def _answers(situation: Situation, era: str, lowered_by: int) -> list[Any]:
    trace = play_scenario(situation, ERAS[era], derived_ids(), "")
    answers = [line for line in trace if line["event"] == "response"]
    return [_lowered(json.loads(json.dumps(line)), lowered_by) for line in answers]


def _lowered(value: Any, by: int) -> Any:
    """The answer with lower epochs; 0 and less are no epochs of a group."""
    if isinstance(value, list):
        return [_lowered(each, by) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: each - by if name in EPOCHS and each > 0 else _lowered(each, by)
        for name, each in value.items()
    }


def _asked(situation: Situation) -> str:
    played = {version: answers_of(version).get(situation["name"]) for version in VERSIONS}
    same = [
        version
        for version, answers in played.items()
        if answers is not None and not any(differences(situation, answers))
    ]
    if not same:
        return "\nModel only: not asked of real brokers.\n"
    return f"\nSame answers and records: brokers of Kafka {' and '.join(same)}.\n"
