"""docs/situations.md from examples/situations: every situation explained, drawn and traced.

    python -m tools.situations

A situation is a scenario with a title, what to look at, the eras that differ, and, where brokers
or Kafka's classes were asked the same, the name of that recording.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.diagram import as_mermaid, draw, live, watch
from coordinator_core.scenarios.scenario import derived_ids, play

ROOT = Path(__file__).resolve().parent.parent
SITUATIONS = ROOT / "examples" / "situations"
CONSUMERS = ROOT / "examples" / "consumers"
PAGE = ROOT / "docs" / "situations.md"
ERAS_IN_ORDER = ("0.9", "0.10", "2.0", "2.5", "3.9", "4.1")
COMPARED = ("at_ms", "to", "error", "generation", "leader", "member", "assignment", "partitions")

Situation = dict[str, Any]

HEAD = """# Situations of a group, one by one

What a group coordinator does when members join, sync, heartbeat, leave, fail or come back, drawn
from runnable scenarios ([examples/situations](../examples/situations)). Made by
`python -m tools.situations`: each diagram is what the coordinator model answers.
`regroup scenario diagram` prints them as text:

    .venv/bin/regroup scenario diagram --era 0.10 examples/situations/15-new-member-first.json

It draws any scenario, and what a real broker made of one (`--trace FILE`). In 36 to 40 nobody wrote
down the requests: consumers of the client model do what they do, and the notes over them are their
rebalance listeners ([examples/consumers](../examples/consumers)).

How to read them: a, b and c are consumers; a2 is a's second member id. Times are virtual. Notes
tell the group's state and generation when they change, and the delayed join: who makes it, whom it
waits for, who completes it. A heartbeat and its answer share an arrow. "Protocols as before" means
the same assignors with the same metadata. Most scenarios join as clients before Kafka 2.2 did,
without being given a member id first (2, 3 and 7 show it), and many begin with a alone in
generation 1: without the initial delay the first member is answered at once.

Who makes the delayed join (10 to 15 and 19), in every era:

- Who moves the group to PreparingRebalance makes it; who comes later only adds itself.
- From then on every join waits, until it is complete.
- A follower with the protocols it had, coming before the leader or a new member, is answered at
  once with the running generation.
- A follower with other protocols makes one, and so does a leader that joins a Stable group with
  any.
- A repeated join or sync of a member that waits takes the place of the first, which is never
  answered (7, 8, 20).

"""


@cache
def situations() -> tuple[Situation, ...]:
    """In the order of their numbers."""
    return tuple(json.loads(path.read_bytes()) for path in sorted(SITUATIONS.glob("*.json")))


@cache
def stories() -> tuple[Situation, ...]:
    """Those in which consumers do by themselves what they do."""
    return tuple(json.loads(path.read_bytes()) for path in sorted(CONSUMERS.glob("*.json")))


def answers(situation: Situation, era: str) -> list[tuple[Any, ...]]:
    """What was answered, and when, as far as eras can be compared in it."""
    trace = play(situation, ERAS[era], derived_ids(), "")
    lines = [line for line in trace if line["event"] == "response"]
    return sorted(tuple(str(line.get(key)) for key in COMPARED) for line in lines)


def same_eras(situation: Situation, era: str) -> list[str]:
    """Eras that are not drawn, have the same answers at the same times and are nearest to this."""
    return [each for each in ERAS_IN_ORDER if _drawn_like(situation, each) == era]


def _drawn_like(situation: Situation, era: str) -> str | None:
    """The drawn era that answers as this one does; of several the nearest, and then the newer."""
    drawn = situation["eras"]
    if era in drawn or (_needs_kip_345(situation) and era in ERAS_IN_ORDER[:3]):
        return None
    place, own = ERAS_IN_ORDER.index(era), answers(situation, era)
    like = [each for each in reversed(drawn) if answers(situation, each) == own]
    return min(like, key=lambda each: abs(ERAS_IN_ORDER.index(each) - place), default=None)


def _needs_kip_345(situation: Situation) -> bool:
    """Instance ids and given member ids are of 2.2 and later."""
    joins = [step for step in situation["steps"] if step["op"] == "join"]
    return any(step["instance_id"] or step["requires_known_member_id"] for step in joins)


def page() -> str:
    found = situations() + stories()
    contents = "".join(f"- [{_title(each)}](#{_anchor(each)})\n" for each in found)
    sections = [_section(each) for each in situations()] + [_story(each) for each in stories()]
    return HEAD + contents + "".join(sections)


def _title(situation: Situation) -> str:
    return f"{int(situation['name'].partition('-')[0])}. {situation['title']}"


def _anchor(situation: Situation) -> str:
    kept = [c for c in _title(situation).lower() if c.isalnum() or c in " -"]
    return "".join(kept).replace(" ", "-")


def _section(situation: Situation) -> str:
    parts = [f"\n## {_title(situation)}\n\n{situation['about']}\n", *_eras(situation)]
    return "".join([*parts, _recorded(situation)])


def _eras(situation: Situation) -> Iterator[str]:
    file = f"examples/situations/{situation['name']}.json"
    for era, text in situation["eras"].items():
        same = same_eras(situation, era)
        eras = f"**Era {era}**" + (f" (the same answers in {', '.join(same)})" if same else "")
        drawn = as_mermaid(draw(watch(situation, ERAS[era], derived_ids())))
        yield f"\n{eras}{': ' if text else ''}{text}\n\n"
        yield f"`regroup scenario diagram --era {era} {file}`\n\n```mermaid\n{drawn}```\n"


def _story(story: Situation) -> str:
    era, file = story["era"], f"examples/consumers/{story['name']}.json"
    drawn = as_mermaid(draw(live(story, ERAS[era], derived_ids())))
    libraries = ", ".join(sorted({each["library"] for each in story["consumers"].values()}))
    return (
        f"\n## {_title(story)}\n\n{story['about']}\n\n"
        f"**Era {era}**, consumers {libraries}\n\n"
        f"`regroup scenario diagram --era {era} {file}`\n\n```mermaid\n{drawn}```\n"
    )


def _recorded(situation: Situation) -> str:
    recorded = situation.get("recorded")
    if recorded is None:
        return "\nNot recorded of a real broker; the model alone says so.\n"
    whose = "real brokers" if recorded["kind"] == "broker" else "Kafka's own coordinator classes"
    versions = ", ".join(recorded["versions"])
    return f"\nRecorded, with the same answers: `{recorded['name']}`, {whose} {versions}.\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(situations() + stories())} situations")
