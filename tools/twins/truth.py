"""The figures of each group of a play, from callbacks, records and log lines.

    .venv/bin/python -m tools.twins.truth FOLDER

- rebalances: generations whose leader sent the assignment (log); target assignments (records)
- not_stable_ms: from "Preparing to rebalance" to the assignment (log); time in Assigning and
  Reconciling by the broker's rule, replayed record by record
- partitions_moved: partitions whose process (client id) differs from the last one that had them
- unowned_partition_ms: per partition, after its first owner, the time without a process that owns
  it: from the callback assigned to revoked or lost, the exit, or kill
- static_joins_refused: log lines
"""

from __future__ import annotations

import io
import json
import re
import sys
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coordinator_core.log_lines import parse_line
from coordinator_core.records import decode_assignment
from coordinator_core.simulation.ownership_times import OwnershipTimes
from jobs.decode.command import decode

Json = Any
_STABLE = 0
_REFUSED = re.compile(r"cannot join the group because the instance id is owned")


@dataclass
class Window:
    from_ms: int
    to_ms: int

    def has(self, at_ms: int) -> bool:
        return self.from_ms <= at_ms <= self.to_ms

    def part_ms(self, since_ms: int, until_ms: int) -> int:
        return max(min(until_ms, self.to_ms) - max(since_ms, self.from_ms), 0)


def truth_of(folder: Path) -> dict[str, Json]:
    timeline, clients = lines_of(folder / "timeline.jsonl"), lines_of(folder / "clients.jsonl")
    (t0_ms,) = [line["t0_wall_ms"] for line in timeline if line["action"] == "script begins"]
    (end_ms,) = [line["wall_ms"] for line in timeline if line["action"] == "window ends"]
    window = Window(t0_ms, end_ms)
    log = [line for line in map(parse_line, _texts(folder / "server.log")) if line is not None]
    records = list(records_of(folder / "segments"))
    groups = {}
    for group in sorted({line["group"] for line in clients}):
        own = [line for line in clients if line["group"] == group]
        consumer = consumer_figures(group, records, window)
        figures = consumer or classic_figures(group, records, log, window)
        figures["unowned_partition_ms"] = unowned_ms(group, own, timeline, window)
        figures["static_joins_refused"] = _refused(group, folder / "server.log", window)
        protocol = "consumer" if consumer else "classic"
        groups[group] = {"protocol": protocol, "window": figures}
    return {"t0_wall_ms": t0_ms, "window_ms": end_ms - t0_ms, "groups": groups}


def lines_of(file: Path) -> list[Json]:
    return [json.loads(line) for line in _texts(file)]


def _texts(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def records_of(segments: Path) -> Iterator[Json]:
    text = io.StringIO()
    if decode([str(segments)], text):
        raise RuntimeError(f"{segments}: unreadable")
    for line in map(json.loads, text.getvalue().splitlines()):
        if "decoded" in line:
            yield line


# -- callbacks -------------------------------------------------------------------------------------


def unowned_ms(
    group: str, clients: Iterable[Json], timeline: Iterable[Json], window: Window
) -> int:
    """An owner is a process life: a killed process and its next life may overlap."""
    owned = OwnershipTimes(window.part_ms)
    ends = [
        {**line, "what": "closed"}
        for line in timeline
        if line.get("group") == group and line["action"] == "kill"
    ]
    for line in sorted([*clients, *ends], key=lambda each: each["wall_ms"]):
        owner, at_ms = str(line["pid"]), line["wall_ms"]
        if line["what"] in ("closed", "fatal, exits"):
            owned.process_ended(owner, at_ms)
        change = {"assigned": owned.assigned, "revoked": owned.revoked, "lost": owned.revoked}
        for topic, number in line.get("partitions", ()):
            change[line["what"]](owner, (topic, number), at_ms)
    owned.close(window.to_ms)
    return owned.unowned_ms


def _refused(group: str, log: Path, window: Window) -> int:
    return sum(
        f"[GroupId {group}]" in text
        and _REFUSED.search(text) is not None
        and (line := parse_line(text)) is not None
        and window.has(line.local_ms)
        for text in _texts(log)
    )


# -- classic groups --------------------------------------------------------------------------------


def classic_figures(
    group: str, records: Iterable[Json], log: Iterable[Json], window: Window
) -> dict[str, int]:
    rebalances = not_stable_ms = 0
    since_ms: int | None = None
    for line in log:
        if line.event is None or line.event.group_id != group:
            continue
        if line.event.event == "REBALANCE_START" and since_ms is None:
            since_ms = line.local_ms
        elif line.event.event in ("ASSIGNMENT_RECEIVED", "GROUP_EMPTY") and since_ms is not None:
            not_stable_ms += window.part_ms(since_ms, line.local_ms)
            since_ms = None
        rebalances += line.event.event == "ASSIGNMENT_RECEIVED" and window.has(line.local_ms)
    if since_ms is not None:
        not_stable_ms += window.part_ms(since_ms, window.to_ms)
    moved = _classic_moves(group, records, window)
    return {
        "rebalances": rebalances,
        "not_stable_ms": not_stable_ms,
        "partitions_moved": moved,
    }


def _classic_moves(group: str, records: Iterable[Json], window: Window) -> int:
    owners: dict[tuple[str, int], str] = {}
    moved = 0
    for line in records:
        decoded = line["decoded"]
        if line["type"] != "GroupMetadata" or decoded["key"]["group"] != group:
            continue
        for member in (decoded["value"] or {}).get("members", ()):
            data = _bytes(member["assignment"])
            for topic, numbers in decode_assignment(data).partitions if data else ():
                for number in numbers:
                    last = owners.get((topic, number), member["client_id"])
                    moved += last != member["client_id"] and window.has(line["timestamp"])
                    owners[topic, number] = member["client_id"]
    return moved


def _bytes(value: Json) -> bytes:
    return b64decode(value) if isinstance(value, str) else bytes(value or b"")


# -- groups of the consumer protocol ---------------------------------------------------------------


@dataclass
class _Group:
    """Replays the records of one group."""

    window: Window
    epoch: int = 0
    target: int = 0
    rebalances: int = 0
    not_stable_ms: int = 0
    moved: int = 0
    clients: dict[str, str] = field(default_factory=dict)
    states: dict[str, tuple[int, int]] = field(default_factory=dict)
    owners: dict[tuple[str, int], str] = field(default_factory=dict)
    since_ms: int | None = None

    def take(self, kind: str, key: Json, value: Json, at_ms: int) -> None:
        if kind == "ConsumerGroupMetadata" and value:
            self.epoch = value["epoch"]
        elif kind == "ConsumerGroupTargetAssignmentMetadata" and value:
            self.target = value["assignment_epoch"]
            self.rebalances += self.target > 0 and self.window.has(at_ms)
        elif kind == "ConsumerGroupMemberMetadata":
            self._member(key["member_id"], value)
        elif kind == "ConsumerGroupCurrentMemberAssignment":
            self._assignment(key["member_id"], value, at_ms)

    def _member(self, member_id: str, value: Json) -> None:
        if value is None:
            self.clients.pop(member_id, None)
        else:
            self.clients[member_id] = value["client_id"]

    def _assignment(self, member_id: str, value: Json, at_ms: int) -> None:
        if value is None:
            self.states.pop(member_id, None)
            return
        self.states[member_id] = value["member_epoch"], value["state"]
        process = self.clients[member_id]
        for each in value["assigned_partitions"]:
            for number in each["partitions"]:
                unit = each["topic_id"], number
                moved = self.owners.get(unit, process) != process
                self.moved += moved and self.window.has(at_ms)
                self.owners[unit] = process

    def note_state(self, at_ms: int) -> None:
        """After the records of a batch."""
        if self.since_ms is not None:
            self.not_stable_ms += self.window.part_ms(self.since_ms, at_ms)
        self.since_ms = None if self._is_stable() else at_ms

    def _is_stable(self) -> bool:
        if not self.clients:
            return True
        reached = all(
            self.states.get(member_id) == (self.target, _STABLE) for member_id in self.clients
        )
        return self.epoch <= self.target and reached


def consumer_figures(group: str, records: Iterable[Json], window: Window) -> dict[str, int] | None:
    """None: the group has no records of this protocol."""
    own = [
        line
        for line in records
        if line["type"].startswith("ConsumerGroup")
        and line["decoded"]["key"].get("group_id") == group
    ]
    replayed = _Group(window)
    for place, line in enumerate(own):
        decoded = line["decoded"]
        replayed.take(line["type"], decoded["key"], decoded["value"], line["timestamp"])
        if place + 1 == len(own) or own[place + 1]["timestamp"] != line["timestamp"]:
            replayed.note_state(line["timestamp"])
    replayed.note_state(window.to_ms)
    return _consumer_counts(replayed) if own else None


def _consumer_counts(replayed: _Group) -> dict[str, int]:
    return {
        "rebalances": replayed.rebalances,
        "not_stable_ms": replayed.not_stable_ms,
        "partitions_moved": replayed.moved,
    }


def main(folder: Path) -> None:
    truth: Mapping[str, Json] = truth_of(folder)
    (folder / "truth.json").write_text(json.dumps(truth, indent=1))
    for group, figures in truth["groups"].items():
        print(group, figures["window"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
