"""The actions of a captured script, from its timeline.jsonl."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any


class Done(Enum):
    START = auto()
    STOP = auto()
    KILL = auto()
    FREEZE = auto()
    SLOW = auto()
    TOPICS = auto()  # topics are created, deleted or extended
    SETTINGS = auto()
    BROKER = auto()
    DELETED = auto()  # the group


_OF_PROCESSES = {
    "start": Done.START,
    "stop": Done.STOP,
    "stop (SIGTERM)": Done.STOP,
    "exited by itself": Done.STOP,
    "kill": Done.KILL,
    "kill -9": Done.KILL,
    "freeze": Done.FREEZE,
    "slow": Done.SLOW,
    "slow handler": Done.SLOW,
    "a revoke callback within the next 20 s stalls": Done.SLOW,
}
_OTHERS = (
    ("partitions added", Done.TOPICS),
    ("topic deleted", Done.TOPICS),
    ("orders grows", Done.TOPICS),
    ("group config set", Done.SETTINGS),
    ("rolling restart to the", Done.SETTINGS),
    ("rolling restart back", Done.SETTINGS),
    ("broker", Done.BROKER),
    ("group deleted", Done.DELETED),
)


# Names in an action that affects every process of the group.
EVERY = frozenset({"*"})
# A handler that takes longer than this per record exceeds the poll interval.
_SLOW_RECORD_MS = 100


@dataclass(frozen=True)
class Action:
    """``names``: those by which evidence may know the process; empty without one.
    ``group``: None for all.  ``lasts_ms``: of a slow handler."""

    at_ms: int
    done: Done
    names: frozenset[str]
    group: str | None
    lasts_ms: int = 0

    def is_of(self, process: str) -> bool:
        """Returns whether the evidence's name is the process: it may have the member id's random
        part, or a prefix of the container.
        """
        return self.names == EVERY or any(
            process == name or process.startswith(f"{name}-") or process.endswith(f"-{name}")
            for name in self.names
        )


def actions_of(lines: Iterable[str]) -> Iterator[Action]:
    """The actions; later ones of a process have the names of its start."""
    names: dict[tuple[str, str], frozenset[str]] = {}
    slow_since: dict[str, int] = {}
    for line in lines:
        entry = json.loads(line)
        text = entry.get("action") or entry.get("what")
        process = entry.get("process") or entry.get("client")
        if process is not None and text in _OF_PROCESSES:
            key = (entry["group"], process)
            if text == "start":
                names[key] = _names(process, entry.get("conf") or {})
            own = names.get(key, frozenset({process}))
            lasts_ms = 1000 * entry.get("seconds", 0)
            yield Action(entry["wall_ms"], _OF_PROCESSES[text], own, entry["group"], lasts_ms)
            continue
        done = next((each for start, each in _OTHERS if text.startswith(start)), None)
        if done is not None:
            yield Action(entry["wall_ms"], done, frozenset(), entry.get("group"))
        elif text.startswith("slow consumers: "):
            yield from _slow_consumers(entry["wall_ms"], text)
        elif entry.get("what") == "slow handler":
            group, record_ms = entry["args"]
            since_ms = slow_since.pop(group, None)
            if since_ms is not None:
                lasts_ms = entry["wall_ms"] - since_ms
                yield Action(since_ms, Done.SLOW, EVERY, group, lasts_ms)
            if record_ms >= _SLOW_RECORD_MS:
                slow_since[group] = entry["wall_ms"]


def _slow_consumers(at_ms: int, text: str) -> Iterator[Action]:
    """``slow consumers: analytics-2 for 25 s (...), audit-1 for 20 s (...)``"""
    for part in text.removeprefix("slow consumers: ").split("), "):
        process, _, seconds, *_ = part.split(" ")
        yield Action(at_ms, Done.SLOW, frozenset({process}), None, 1000 * int(seconds))


def _names(process: str, conf: dict[str, Any]) -> frozenset[str]:
    ids = (conf.get(name) for name in ("client.id", "group.instance.id"))
    return frozenset({process, *filter(None, ids)})
