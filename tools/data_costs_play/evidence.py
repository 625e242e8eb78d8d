"""Reads what a play recorded for its judges: records produced and handled, callbacks, actions."""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TextIO

Json = Any
_ENDS = {"kill", "exited by itself"}


class Handling(NamedTuple):
    at_ms: int
    partition: int
    offset: int
    process: str
    pid: int


@dataclass(kw_only=True)
class Tenure:
    """A process' ownership of a partition, from its callback assigned to ``to_ms``.

    ``ended``: revoked, lost, or gone (closed, killed, crashed); None at the end of the play.
    """

    partition: int
    process: str
    pid: int
    from_ms: int
    to_ms: int
    ended: str | None = None


@dataclass(kw_only=True)
class Group:
    """``handlings`` and ``tenures`` in their order of time; ``notes``: lines of clients.jsonl."""

    name: str
    conf: Mapping[str, Json]
    handlings: list[Handling]
    tenures: list[Tenure]
    notes: list[Json] = field(default_factory=list)


@dataclass(kw_only=True)
class Evidence:
    """``rates``: records per second of each partition, by topic.  ``produced_ms``: by topic and
    partition the time of each offset.
    """

    begin: Json
    rates: Mapping[str, list[float]]
    end_ms: int
    produced_ms: dict[str, dict[int, list[int]]]
    groups: list[Group]


def read(folder: Path) -> Evidence:
    """A play in the layout of `tools.data_costs_play.play`."""
    timeline = timeline_of(folder)
    (begin,) = [line for line in timeline if line["action"] == "script begins"]
    (created,) = [line for line in timeline if line["action"] == "topics created"]
    return Evidence(
        begin=begin,
        rates=created["rates"],
        end_ms=_end_ms(timeline),
        produced_ms=_produced(folder / "produced.csv.gz", created["rates"]),
        groups=groups_of(folder),
    )


def timeline_of(folder: Path) -> list[Json]:
    return list(_lines(folder / "timeline.jsonl"))


def _end_ms(timeline: Iterable[Json]) -> int:
    return max(line["wall_ms"] for line in timeline)


def groups_of(folder: Path) -> list[Group]:
    """What the consumers recorded."""
    timeline = timeline_of(folder)
    (begin,) = [line for line in timeline if line["action"] == "script begins"]
    notes: dict[str, list[Json]] = defaultdict(list)
    for line in _lines(folder / "clients.jsonl"):
        notes[line["group"]].append(line)
    return [
        Group(
            name=name,
            conf=conf,
            handlings=_handlings(folder, name),
            tenures=tenures(notes[name], _ends(timeline, name), _end_ms(timeline)),
            notes=notes[name],
        )
        for name, conf in begin["groups"].items()
    ]


def _lines(file: Path) -> Iterator[Json]:
    return map(json.loads, file.read_text(encoding="utf-8").splitlines())


def _produced(file: Path, rates: Mapping[str, list[float]]) -> dict[str, dict[int, list[int]]]:
    times: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    with gzip.open(file, "rt") as text:
        for row in csv.DictReader(text):
            offsets = times[row["topic"], int(row["partition"])]
            offsets[int(row["offset"])] = int(row["wall_ms"])
    for (topic, partition), offsets in times.items():
        if sorted(offsets) != list(range(len(offsets))):
            raise ValueError(f"{file}: {topic}-{partition} lacks offsets")
    return {
        topic: {
            partition: [at_ms for _, at_ms in sorted(times[topic, partition].items())]
            for partition in range(len(of_topic))
        }
        for topic, of_topic in rates.items()
    }


def _handlings(folder: Path, group: str) -> list[Handling]:
    handlings = []
    for file in sorted((folder / "clients").glob(f"{group}.*.handled*")):
        process, pid = file.name.removeprefix(f"{group}.").split(".")[:2]
        with _open(file) as text:
            for line in text:
                if line.endswith("\n"):  # A killed process may leave an incomplete line.
                    at_ms, partition, offset = map(int, line.split())
                    handlings.append(Handling(at_ms, partition, offset, process, int(pid)))
    return sorted(handlings, key=lambda each: each.at_ms)


def _open(file: Path) -> TextIO:
    return gzip.open(file, "rt") if file.suffix == ".gz" else open(file)


def _ends(timeline: Iterable[Json], group: str) -> list[Json]:
    return [
        {**line, "what": "gone"}
        for line in timeline
        if line.get("group") == group and line["action"] in _ENDS
    ]


def tenures(notes: Iterable[Json], ends: Iterable[Json], end_ms: int) -> list[Tenure]:
    """``ends``: exits that no callback precedes.  In the order of their begin."""
    begun: list[Tenure] = []
    held: dict[tuple[int, int], Tenure] = {}
    for line in sorted([*notes, *ends], key=lambda each: each["wall_ms"]):
        what, pid, at_ms = line["what"], line["pid"], line["wall_ms"]
        if what == "assigned":
            for partition in line["partitions"]:
                if (pid, partition) not in held:
                    tenure = Tenure(
                        partition=partition,
                        process=line["client"],
                        pid=pid,
                        from_ms=at_ms,
                        to_ms=end_ms,
                    )
                    held[pid, partition] = tenure
                    begun.append(tenure)
        elif what in ("revoked", "lost"):
            _end(held, [(pid, each) for each in line["partitions"]], at_ms, what)
        elif what in ("closed", "crash", "gone"):
            _end(held, [key for key in held if key[0] == pid], at_ms, "gone")
    return begun


def _end(
    held: dict[tuple[int, int], Tenure], keys: Iterable[tuple[int, int]], at_ms: int, how: str
) -> None:
    for key in keys:
        tenure = held.pop(key, None)
        if tenure is not None:
            tenure.to_ms, tenure.ended = at_ms, how
