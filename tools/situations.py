"""Writes docs/situations: every situation of examples/situations explained and drawn.

    python -m tools.situations

A situation is a scenario with a title, an explanation, the eras to draw it in, and the name of the
recording in which brokers or Kafka's classes played the same requests, if there is one.  A script
(examples/consumers) lists consumers instead of requests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.diagram import as_mermaid, draw, record_consumers, record_scenario
from coordinator_core.scenarios.scenario import derived_ids, play
from tools.manual.folder import write_folder

ROOT = Path(__file__).resolve().parent.parent
SITUATIONS = ROOT / "examples" / "situations"
CONSUMERS = ROOT / "examples" / "consumers"
FOLDER = ROOT / "docs" / "situations"
INDEX = "README.md"
ERAS_IN_ORDER = ("0.9", "0.10", "2.0", "2.5", "3.9", "4.1", "4.4")
COMPARED = ("at_ms", "to", "error", "generation", "leader", "member", "assignment", "partitions")

Situation = dict[str, Any]

HEAD = """# Situations of a group

What a group coordinator does when members join, sync, heartbeat, leave, fail or return, drawn from
runnable scenarios ([examples/situations](../../examples/situations)). `python -m tools.situations`
generates these pages; each diagram shows the answers of the coordinator model.
`regroup scenario diagram` prints the diagrams as text:

    .venv/bin/regroup scenario diagram --era 0.10 examples/situations/15-new-member-first.json

The command draws any scenario, and the trace of a real broker (`--trace FILE`). Situations 36 to 40
list no requests: the client model runs the consumers, and notes over a consumer show its rebalance
listener ([examples/consumers](../../examples/consumers)). [Situations 41 to 64](modern-groups.md)
show consumer, share and streams groups.

How to read the diagrams: `a`, `b` and `c` are consumers; `a2` is the second member id of `a`. Times
are virtual. Notes show the group's state and generation when they change, and the delayed join: who
creates it, which members it waits for, who completes it. A heartbeat and its answer share an arrow.
"Same protocols" means the same assignors with the same metadata. In most scenarios clients join as
before Kafka 2.2, without a required member id (2, 3 and 7 show required ids). Many scenarios begin
with `a` alone in generation 1: without the initial delay the first member is answered at once.

Who creates the delayed join (10 to 15 and 19), in every era:

- The request or timer that moves the group to PreparingRebalance creates the delayed join; later
  joins are added.
- From then on every join waits until the delayed join is complete.
- A follower that joins with unchanged protocols before the leader or a new member does is answered
  at once with the current generation.
- A follower that joins with changed protocols creates a delayed join. A leader that joins a Stable
  group creates one with any protocols.
- A repeated join or sync of a waiting member replaces the earlier request, which is never answered
  (7, 8, 20).

"""


@cache
def situations() -> tuple[Situation, ...]:
    """All situations, in the order of their numbers."""
    return tuple(json.loads(path.read_bytes()) for path in sorted(SITUATIONS.glob("*.json")))


@cache
def scripts() -> tuple[Situation, ...]:
    """All scripts of consumers, in the order of their numbers."""
    return tuple(json.loads(path.read_bytes()) for path in sorted(CONSUMERS.glob("*.json")))


def answers(situation: Situation, era: str) -> list[tuple[Any, ...]]:
    """The fields of the answers, with times, that are comparable between eras."""
    trace = play(situation, ERAS[era], derived_ids(), "")
    lines = [line for line in trace if line["event"] == "response"]
    return sorted(tuple(str(line.get(key)) for key in COMPARED) for line in lines)


def same_eras(situation: Situation, era: str) -> list[str]:
    """The eras that are not drawn because this drawn era has the same answers at the same times."""
    return [each for each in ERAS_IN_ORDER if _drawn_like(situation, each) == era]


def _drawn_like(situation: Situation, era: str) -> str | None:
    """The drawn era with the same answers; if there are several, the nearest, then the newer."""
    drawn = situation["eras"]
    if era in drawn or (_needs_kip_345(situation) and era in ERAS_IN_ORDER[:3]):
        return None
    position, own = ERAS_IN_ORDER.index(era), answers(situation, era)
    equal = [each for each in reversed(drawn) if answers(situation, each) == own]
    return min(equal, key=lambda each: abs(ERAS_IN_ORDER.index(each) - position), default=None)


def _needs_kip_345(situation: Situation) -> bool:
    """Returns whether a join has an instance id or requires a member id, which began with 2.2."""
    joins = [step for step in situation["steps"] if step["op"] == "join"]
    return any(step["instance_id"] or step["requires_known_member_id"] for step in joins)


def pages() -> dict[str, str]:
    """The index and a page per situation, by the file's name."""
    index = HEAD + "".join(map(index_line, situations() + scripts()))
    drawn = {f"{each['name']}.md": _page(each) for each in situations()}
    scripted = {f"{each['name']}.md": _script_page(each) for each in scripts()}
    return {INDEX: index, **drawn, **scripted}


def index_line(situation: Situation) -> str:
    return f"- [{heading(situation)}]({situation['name']}.md)\n"


def heading(situation: Situation) -> str:
    return f"{int(situation['name'].partition('-')[0])}. {situation['title']}"


def _page(situation: Situation) -> str:
    parts = [f"# {heading(situation)}\n\n{situation['about']}\n", *_eras(situation)]
    return "".join([*parts, _recorded(situation)])


def _eras(situation: Situation) -> Iterator[str]:
    file = f"examples/situations/{situation['name']}.json"
    for era, text in situation["eras"].items():
        same = same_eras(situation, era)
        eras = f"**Era {era}**" + (f" (the same answers in {', '.join(same)})" if same else "")
        drawn = as_mermaid(draw(record_scenario(situation, ERAS[era], derived_ids())))
        yield f"\n{eras}{': ' if text else ''}{text}\n\n"
        yield f"`regroup scenario diagram --era {era} {file}`\n\n```mermaid\n{drawn}```\n"


def _script_page(script: Situation) -> str:
    era, file = script["era"], f"examples/consumers/{script['name']}.json"
    drawn = as_mermaid(draw(record_consumers(script, ERAS[era], derived_ids())))
    libraries = ", ".join(sorted({each["library"] for each in script["consumers"].values()}))
    return (
        f"# {heading(script)}\n\n{script['about']}\n\n"
        f"**Era {era}**, consumers {libraries}\n\n"
        f"`regroup scenario diagram --era {era} {file}`\n\n```mermaid\n{drawn}```\n"
    )


def _recorded(situation: Situation) -> str:
    recorded = situation.get("recorded")
    if recorded is None:
        return "\nModel only: not recorded with a real broker.\n"
    players = "real brokers" if recorded["kind"] == "broker" else "Kafka's own coordinator classes"
    versions = ", ".join(recorded["versions"])
    return f"\nSame answers in recording `{recorded['name']}`: {players} {versions}.\n"


if __name__ == "__main__":
    from tools import modern_situations

    write_folder(FOLDER, pages() | modern_situations.pages())
