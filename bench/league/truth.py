"""What the league's groups did: from callbacks, handled records, actions and the broker's log.

    .venv/bin/python -m bench.league.truth FOLDER

Writes FOLDER/truth.json and FOLDER/versions.json, in the layout of the captured client libraries.
Regroup's tables have no part in it.  A partition is unowned while no living process has been told
that it owns the partition; a frozen or slow process owns what it had.  Kafka 4.4 logs a line for
each rebalance: of a classic group the leader's assignment, of other groups the new target
assignment.  A classic member id begins with the client id, which names the process;
other members are recognised by the member id in the callbacks or logs of their process.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from bench.league.script import PARTITIONS
from tools.data_costs_play.evidence import Group, Json, groups_of, timeline_of

_LINE = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] \w+ (.*)")
# Keys are the keys of `tools.client_zoo_league`.
_SEEN = {
    "begins": re.compile(r"Preparing to rebalance group (?P<group>\S+) in state"),
    "stable": re.compile(r"Assignment received from leader .+ for group (?P<group>\S+) for gen"),
    "empty": re.compile(r"Group (?P<group>\S+) with generation \d+ is now empty"),
    "target": re.compile(r"\[GroupId (?P<group>[^]]+)\].* Computed a new target assignment"),
    "left": re.compile(r"\[Group (?P<group>\S+)\] Member (?P<member>\S+) has left group through"),
    "fail": re.compile(r"Member (?P<member>\S+) in group (?P<group>\S+) has failed, removing it"),
    "nleave": re.compile(
        r"\[GroupId (?P<group>[^]]+)\].* Member (?P<member>\S+) left the \w+ group"
    ),
    "nfence": re.compile(r"\[GroupId (?P<group>[^]]+)\].* [Mm]ember (?P<member>\S+) fenced from"),
}
# Limits within which a stopped process leaves, and within which a slow or frozen process departs.
_STOP_MS, _DEPART_MS = 15_000, 40_000


class Seen(NamedTuple):
    """A line of the coordinator; ``what``: as in _SEEN."""

    at_ms: int
    what: str
    member: str | None


class GroupTruth:
    def __init__(
        self, folder: Path, group: Group, actions: Sequence[Json], seen: Sequence[Seen]
    ) -> None:
        self._folder, self._group, self._actions, self._seen = folder, group, actions, seen

    def figures(self) -> Json:
        kill_ms = self._at("kill")
        roll_ms = min(each["wall_ms"] for each in self._actions if each["action"] == "stop")
        final_ms = min(
            each["wall_ms"]
            for each in self._actions
            if each["action"] == "stop" and each["wall_ms"] > self._at("freeze")
        )
        rolled = [at_ms for at_ms in self._rebalances if roll_ms <= at_ms < kill_ms]
        is_classic = self._group.conf["protocol"] == "classic"
        return {
            "library": self._group.name.removeprefix("league-"),
            "protocol": self._group.conf["protocol"],
            "rebalances": len(self._rebalances),
            "not_stable_ms": self._not_stable_ms() if is_classic else None,
            "first_full_assignment_ms": self._full_ms,
            "final_stop_ms": final_ms,
            "unowned_partition_ms": self._full_ms
            and {"first_full_to_final_stop": self._unowned_ms(self._full_ms, final_ms)},
            "phases": {
                "roll": {
                    "rebalances": len(rolled),
                    "unowned_partition_ms": self._full_ms and self._unowned_ms(roll_ms, kill_ms),
                }
            },
            "handled": {
                "records": len(self._group.handlings),
                "duplicates": sum(number > 1 for number in self._handled.values()),
            },
            "events": list(map(self._event, self._actions)),
        }

    @property
    def version(self) -> str:
        return next(note["library"] for note in self._group.notes if note["what"] == "started")

    def _at(self, action: str) -> int:
        return next(each["wall_ms"] for each in self._actions if each["action"] == action)

    @cached_property
    def _handled(self) -> Counter[tuple[int, int]]:
        return Counter((each.partition, each.offset) for each in self._group.handlings)

    @cached_property
    def _rebalances(self) -> list[int]:
        return [each.at_ms for each in self._seen if each.what in ("stable", "target")]

    def _not_stable_ms(self) -> int:
        total_ms, since_ms = 0, None
        for each in self._seen:
            if each.what == "begins":
                since_ms = since_ms or each.at_ms
            elif each.what in ("stable", "empty") and since_ms is not None:
                total_ms += each.at_ms - since_ms
                since_ms = None
        return total_ms

    # -- ownership by callbacks --------------------------------------------------------------------

    @cached_property
    def _full_ms(self) -> int | None:
        """When all partitions were first owned, or None without callbacks."""
        first: dict[int, int] = {}
        for each in self._group.tenures:
            first.setdefault(each.partition, each.from_ms)
        return max(first.values()) if len(first) == PARTITIONS else None

    def _unowned_ms(self, from_ms: int, to_ms: int) -> int:
        return sum(
            max(0, min(end_ms, to_ms) - max(begin_ms, from_ms))
            for partition in range(PARTITIONS)
            for begin_ms, end_ms in self._gaps(partition, to_ms)
        )

    def _gaps(self, partition: int, to_ms: int) -> Iterator[tuple[int, int]]:
        owned_ms = None
        for each in self._group.tenures:
            if each.partition == partition:
                if owned_ms is not None and each.from_ms > owned_ms:
                    yield owned_ms, each.from_ms
                owned_ms = max(owned_ms or 0, each.to_ms)
        if owned_ms is not None and owned_ms < to_ms:
            yield owned_ms, to_ms

    # -- actions -----------------------------------------------------------------------------------

    def _event(self, action: Json) -> Json:
        what, at_ms = action["action"], action["wall_ms"]
        event = {key: action[key] for key in ("action", "process", "pid", "wall_ms")}
        if what == "stop":
            left = self._departures(action, ("left", "nleave"), _STOP_MS)
            event["left_group_after_ms"] = left[0][1] if left else None
        elif what in ("kill", "freeze", "slow"):
            event["broker_said"] = self._departures(
                action, ("left", "fail", "nleave", "nfence"), _DEPART_MS
            )
            event["own_callbacks"] = [
                [note["what"], note["wall_ms"] - at_ms]
                for note in self._group.notes
                if note["pid"] == action["pid"]
                and note["what"] in ("assigned", "revoked", "lost")
                and 0 <= note["wall_ms"] - at_ms < _DEPART_MS
            ]
            event["reassigned_after_ms"] = sorted(self._reassigned(action))
        return event

    def _departures(self, action: Json, kinds: Iterable[str], within_ms: int) -> list[list[Any]]:
        at_ms = action["wall_ms"]
        return [
            [each.what, each.at_ms - at_ms]
            for each in self._seen
            if each.what in kinds
            and 0 <= each.at_ms - at_ms < within_ms
            and self._process_of(each.member or "") == action["process"]
        ]

    def _process_of(self, member: str) -> str | None:
        own = next((name for name in self._names if member.startswith(f"{name}-")), None)
        return own or self._members.get(member)

    @cached_property
    def _names(self) -> list[str]:
        return sorted({each["process"] for each in self._actions})

    @cached_property
    def _members(self) -> dict[str, str]:
        """Processes by member id, for member ids that the client made."""
        by_callback = {
            note["member"]: note["client"] for note in self._group.notes if note.get("member")
        }
        logs = self._folder / "logs" / self._group.conf["client"]
        text = {name: (logs / f"{self._group.name}.{name}.log").read_text() for name in self._names}
        others = {each.member for each in self._seen if each.member} - by_callback.keys()
        return by_callback | {id: name for id in others for name in self._names if id in text[name]}

    def _reassigned(self, action: Json) -> Iterator[int]:
        """Per partition of the process: ms until another process was assigned the partition."""
        at_ms, pid = action["wall_ms"], action["pid"]
        had = {
            each.partition
            for each in self._group.tenures
            if each.pid == pid and each.from_ms <= at_ms <= each.to_ms
        }
        for partition in had:
            later = (
                each.from_ms - at_ms
                for each in self._group.tenures
                if each.partition == partition and each.pid != pid and each.from_ms > at_ms
            )
            if (after_ms := next(later, None)) is not None:
                yield after_ms


def write(folder: Path) -> None:
    groups, actions = groups_of(folder), timeline_of(folder)
    (begin,) = [each for each in actions if each["action"] == "script begins"]
    seen = _seen(folder / "server.log")
    truths = [
        GroupTruth(
            folder,
            group,
            [each for each in actions if each.get("group") == group.name],
            seen.get(group.name, []),
        )
        for group in groups
    ]
    figures = {group.name: of for group, of in zip(groups, truths, strict=True)}
    truth = {
        "broker": begin["broker"],
        "t0_wall_ms": begin["t0_wall_ms"],
        "groups": {name: of.figures() for name, of in figures.items()},
    }
    versions = {name.removeprefix("league-"): of.version for name, of in figures.items()}
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    (folder / "versions.json").write_text(json.dumps({"libraries": versions}, indent=1) + "\n")


def _seen(log: Path) -> dict[str, list[Seen]]:
    """By group."""
    seen: dict[str, list[Seen]] = {}
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if not (head := _LINE.match(line)):
            continue
        for what, wording in _SEEN.items():
            if line_match := wording.search(head[2]):
                at = datetime.strptime(head[1], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
                fields = line_match.groupdict()
                group = seen.setdefault(fields["group"], [])
                group.append(Seen(round(at.timestamp() * 1000), what, fields.get("member")))
                break
    return seen


if __name__ == "__main__":
    write(Path(sys.argv[1]))
