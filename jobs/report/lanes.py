"""A lane per process: its generations, with times and partitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from jobs.report.epochs import EpochSpan

Row = dict[str, Any]
GenerationKey = tuple[int, int]  # incarnation, generation
Spell = tuple[int, int, int, int, str | None]

ACTIVE, STANDBY, WARMUP = "active", "standby", "warmup"  # roles of tasks
CONNECTOR = "connector"
_ROLE_WORDS = {STANDBY: "standby", WARMUP: "warm-up"}
_NUMBER = re.compile(r"(\d+)")


class Lanes:
    """``lanes`` are sorted by name.  ``assigned`` has texts of partitions, which spells refer to.

    A spell is a process in a generation: [index of the generation, index in ``assigned`` or -1].
    If it is shorter than the generation, or the member was removed, three fields follow: from and
    to, in ms since the first generation, and how the member left.

    A lane's ``epochs`` are the spans of a process in consumer, share and streams groups: [from, to,
    phase, index in ``assigned`` or -1, index of what it was asked to give up or -1, member epoch].
    """

    def __init__(
        self, generations: Sequence[Row], index: Mapping[GenerationKey, int], last_ms: int
    ) -> None:
        self._generations, self._index, self._last_ms = generations, index, last_ms
        self._lanes: dict[str, Row] = {}
        self._texts: dict[str, int] = {}
        self._counts: list[list[int]] = []

    @property
    def lanes(self) -> list[Row]:
        return sorted(self._lanes.values(), key=lambda lane: _natural(lane["process"]))

    @property
    def assigned(self) -> list[tuple[str | int, ...]]:
        """Each text with its number of partitions or active tasks, and with its numbers of standby
        and warm-up tasks if it has any.
        """
        return [(text, *counts) for text, counts in zip(self._texts, self._counts, strict=True)]

    def add(self, members: Sequence[Row]) -> None:
        """Add the members of one generation; a replaced member comes before its replacement."""
        at = self._index.get((members[0]["incarnation"], members[0]["generation"]))
        if at is None:
            return
        generation, base_ms = self._generations[at], self._generations[0]["begin_ms"]
        end_ms = self._last_ms if generation["end_ms"] is None else generation["end_ms"]
        conversion_ms = self._conversion_ms(at)
        for member in members:
            joined_ms = member["joined_ms"]
            from_ms = generation["begin_ms"] if joined_ms is None else joined_ms
            to_ms = end_ms if member["left_ms"] is None else member["left_ms"]
            to_ms = min(to_ms, conversion_ms)
            lane = self._lanes.setdefault(member["process"], _lane(member))
            spell = [at, self.text_of(member["assigned"])]
            if (from_ms, to_ms, member["left_how"]) != (generation["begin_ms"], end_ms, None):
                spell += [min(from_ms, to_ms) - base_ms, to_ms - base_ms, member["left_how"]]
            lane["spells"].append(spell)

    def _conversion_ms(self, at: int) -> float:
        """The time at which a generation ended by a conversion of the group; infinite if it did
        not.
        """
        if at + 1 < len(self._generations):
            following = self._generations[at + 1]
            if following["group_type"] != self._generations[at]["group_type"]:
                return int(following["begin_ms"])
        return float("inf")

    def add_epochs(self, spans: Iterable[EpochSpan]) -> None:
        """Add the spans of processes that have a lane."""
        base_ms = self._generations[0]["begin_ms"]
        for span in spans:
            lane = self._lanes.get(span.process)
            if lane is not None:
                texts = [self.text_of(span.assigned), self.text_of(span.pending)]
                times = [span.from_ms - base_ms, span.to_ms - base_ms]
                lane.setdefault("epochs", []).append([*times, span.phase, *texts, span.epoch])

    def text_of(self, assigned: Sequence[Row] | None) -> int:
        """The index of the text in ``assigned``; -1 for nothing."""
        if not assigned:
            return -1
        text = assigned_text(assigned)
        if text not in self._texts:
            self._texts[text] = len(self._texts)
            self._counts.append(_counts(assigned))
        return self._texts[text]


def spells(lane: Row, generations: Sequence[Row], last_ms: int) -> Iterator[Spell]:
    """A lane's spells with all fields: generation, from, to, index in ``assigned``, how it left.

    ``generations`` have times since the first one, as in a timeline.
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
    """Partitions by topic, in which consecutive partitions are a range: ``orders 0-3, 7; payments
    2``.

    In streams groups, tasks with their topics: ``0_0-2 (clicks); standby 1_4 (counts)``.
    """
    texts = []
    for (role, subtopology), rows in groupby(assigned, key=_role_and_subtopology):
        topics = list(rows)
        before = "" if role == ACTIVE else f"{_ROLE_WORDS.get(role, role)} "
        if role == CONNECTOR:  # Kafka Connect has no partitions.
            texts += [f"connector {each['topic']}" for each in topics]
        elif subtopology is None:
            texts += [f"{before}{each['topic']} {_runs(each['partitions'])}" for each in topics]
        else:
            numbers = sorted({number for each in topics for number in each["partitions"]})
            names = ", ".join(each["topic"] for each in topics)
            texts.append(f"{before}{_runs(numbers, f'{subtopology}_')} ({names})")
    return "; ".join(texts)


def _role_and_subtopology(row: Row) -> tuple[str, str | None]:
    return row.get("role") or ACTIVE, row.get("subtopology")


def _counts(assigned: Sequence[Row]) -> list[int]:
    """Partitions, or active tasks; then standby and warm-up tasks, if there are some."""
    counts = {role: set[tuple[str, int]]() for role in (ACTIVE, STANDBY, WARMUP)}
    for row in assigned:
        role, subtopology = _role_and_subtopology(row)
        unit = row["topic"] if subtopology is None else subtopology
        counts.setdefault(role, set()).update((unit, number) for number in row["partitions"])
    standby, warmup = (len(counts[role]) for role in (STANDBY, WARMUP))
    active = sum(map(len, counts.values())) - standby - warmup
    return [active, standby, warmup] if standby or warmup else [active]


def _runs(partitions: Sequence[int], prefix: str = "") -> str:
    runs: list[list[int]] = []
    for partition in partitions:
        if runs and partition == runs[-1][1] + 1:
            runs[-1][1] = partition
        else:
            runs.append([partition, partition])
    return ", ".join(f"{prefix}{a}" if a == b else f"{prefix}{a}-{b}" for a, b in runs)
