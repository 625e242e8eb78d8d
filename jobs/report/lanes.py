"""A lane per process: its generations, with times and partitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = dict[str, Any]
GenerationKey = tuple[int, int]  # incarnation, generation
Spell = tuple[int, int, int, int, str | None]

_NUMBER = re.compile(r"(\d+)")


class Lanes:
    """``lanes``: sorted by name.  ``assigned``: texts of partitions, which spells refer to.

    A spell is a process in a generation: [index of the generation, index in ``assigned`` or -1].
    If it is shorter than the generation, or the member was removed, three fields follow: from and
    to, in ms since the first generation, and how the member left.
    """

    def __init__(
        self, generations: Sequence[Row], index: Mapping[GenerationKey, int], last_ms: int
    ) -> None:
        self._generations, self._index, self._last_ms = generations, index, last_ms
        self._lanes: dict[str, Row] = {}
        self._texts: dict[str, int] = {}
        self._counts: list[int] = []

    @property
    def lanes(self) -> list[Row]:
        return sorted(self._lanes.values(), key=lambda lane: _natural(lane["process"]))

    @property
    def assigned(self) -> list[tuple[str, int]]:
        """Each text, and its number of partitions."""
        return list(zip(self._texts, self._counts, strict=True))

    def add(self, members: Sequence[Row]) -> None:
        """Add the members of one generation; a replaced member comes before its replacement."""
        at = self._index.get((members[0]["incarnation"], members[0]["generation"]))
        if at is None:
            return
        generation, base_ms = self._generations[at], self._generations[0]["begin_ms"]
        end_ms = self._last_ms if generation["end_ms"] is None else generation["end_ms"]
        for member in members:
            joined_ms = member["joined_ms"]
            from_ms = generation["begin_ms"] if joined_ms is None else joined_ms
            to_ms = end_ms if member["left_ms"] is None else member["left_ms"]
            lane = self._lanes.setdefault(member["process"], _lane(member))
            spell = [at, self._text(member)]
            if (from_ms, to_ms, member["left_how"]) != (generation["begin_ms"], end_ms, None):
                spell += [min(from_ms, to_ms) - base_ms, to_ms - base_ms, member["left_how"]]
            lane["spells"].append(spell)

    def _text(self, member: Row) -> int:
        if not member["assigned"]:
            return -1
        text = assigned_text(member["assigned"])
        if text not in self._texts:
            self._texts[text] = len(self._texts)
            self._counts.append(sum(len(each["partitions"]) for each in member["assigned"]))
        return self._texts[text]


def spells(lane: Row, generations: Sequence[Row], last_ms: int) -> Iterator[Spell]:
    """A lane's spells with all fields: generation, from, to, index in ``assigned``, how it left.

    ``generations``: with times since the first one, as in a timeline.
    """
    for at, assigned, *more in lane["spells"]:
        generation = generations[at]
        end_ms = last_ms if generation["end_ms"] is None else generation["end_ms"]
        from_ms, to_ms, left = more or (generation["begin_ms"], end_ms, None)
        yield at, from_ms, to_ms, assigned, left


def _lane(member: Row) -> Row:
    return {
        "process": member["process"],
        "client_id": member["client_id"],
        "client_host": member["client_host"],
        "instance_id": member["instance_id"],
        "spells": [],
    }


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Sort key: app-2 before app-10."""
    parts = _NUMBER.split(name)
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


def assigned_text(assigned: Sequence[Row]) -> str:
    """Partitions by topic, consecutive ones as a range: ``orders 0-3, 7; payments 2``."""
    return "; ".join(f"{each['topic']} {_runs(each['partitions'])}" for each in assigned)


def _runs(partitions: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for partition in partitions:
        if runs and partition == runs[-1][1] + 1:
            runs[-1][1] = partition
        else:
            runs.append([partition, partition])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
