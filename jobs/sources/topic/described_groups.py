"""Output of `kafka-consumer-groups --describe` -> rows of group_snapshots.

The tool prints a table of offsets, of members (--members) or of a state (--state) per group, and on
stderr a sentence about a group that has no members or that rebalances.  The output has no time: a
file has a line with a date before each output, as `date` prints it.  The tables of one group below
one date are one row.

A table of offsets names each member, also a member without partitions.  Without --verbose, a table
of members has only the number of partitions.  Kafka before 2.2 prints no column GROUP.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, NamedTuple

from coordinator_core.log_lines.dates import Stamp, stamps_in
from jobs.sources.logs.clock import WallClock, beyond_dates
from jobs.sources.logs.dates import LineDates, dates_of
from jobs.sources.topic.live_groups import GroupRow

MISSING = "-"
NO_DATE = "no line above has a date: print `date` before each output, or give --log-date"
NO_MEMBERS = "the output has neither members nor offsets of this group: add --members --verbose"
_GROUP, _MEMBER, _TOPIC, _STATE = "GROUP", "CONSUMER-ID", "TOPIC", "STATE"
_ASSIGNED, _TARGET = ("CURRENT-ASSIGNMENT", "ASSIGNMENT"), "TARGET-ASSIGNMENT"
_EPOCHS = ("CURRENT-EPOCH", "TARGET-EPOCH", "GROUP-EPOCH")
HEADER = re.compile(
    r"(?:(?<=\s)|^)(?:GROUP +(?:TOPIC|CONSUMER-ID|COORDINATOR \(ID\))|TOPIC +PARTITION) "
)
_COLUMN = re.compile(r"COORDINATOR \(ID\)|\S+")
_NUMBER = re.compile(r"-?\d+|-")
_NUMBERS = ("PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "#PARTITIONS", "#MEMBERS")
_COORDINATOR = re.compile(r"(?<!\S)(\S+:-?\d+) +(\(-?\d+\))")
_COORDINATOR_ID = re.compile(r"\((-?\d+)\)")
_TOPIC_PARTITIONS = re.compile(r"(?<![\w.-])([\w.-]+)[(:]([\d,]+)\)?")
SENTENCE = re.compile(
    r"[Cc]onsumer group '((?:(?![Cc]onsumer group ').)+)' "
    r"(has no active members|is rebalancing|does not exist|is dead)"
)
_STATES = {
    "has no active members": "Empty",
    "is rebalancing": "PreparingRebalance",
    "does not exist": "Dead",
    "is dead": "Dead",
}


class DescribedGroups(NamedTuple):
    """The groups below one line with a date."""

    time: datetime
    rows: list[GroupRow]


@dataclass(kw_only=True)
class Description:
    """The snapshots of one file. ``problems`` has a line per part of the file that is not used."""

    snapshots: list[DescribedGroups] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class DescribedTable:
    """The columns of a header, with their positions."""

    def __init__(self, header: str, start: int) -> None:
        matches = list(_COLUMN.finditer(header, start))
        self.columns = tuple(match[0] for match in matches)
        self._starts = [match.start() for match in matches]

    def cells(self, line: str) -> Mapping[str, str] | None:
        """The values of a row by column, or None if the line is none."""
        places = [*pairwise(self._starts), (self._starts[-1], len(line))]
        starts_with_space = all(line[at - 1 : at] in ("", " ") for at in self._starts[1:])
        by_place = [line[begin:end].strip() for begin, end in places]
        if starts_with_space and self._is_row(by_place):
            return dict(zip(self.columns, by_place, strict=True))
        # Pasted text has lost its spaces.
        split = _COORDINATOR.sub(r"\1\2", line).split(None, len(self.columns) - 1)
        return dict(zip(self.columns, split, strict=True)) if self._is_row(split) else None

    def _is_row(self, values: list[str]) -> bool:
        if len(values) != len(self.columns) or not values[0]:
            return False
        named = dict(zip(self.columns, values, strict=True))
        return all(_NUMBER.fullmatch(named[name]) for name in _NUMBERS if name in named)


@dataclass(kw_only=True)
class _Group:
    """What the tables below one date say about one group.

    ``header_lines`` has, by columns, the line of the table's header.  ``counts`` have the number of
    partitions by member.
    """

    header_lines: dict[tuple[str, ...], int] = field(default_factory=dict)
    state: str | None = None
    state_of_sentence: str | None = None
    protocol: str | None = None
    coordinator_id: int | None = None
    has_epochs: bool | None = None
    members: dict[str, dict[str, Any]] | None = None
    counts: dict[str, bytes] = field(default_factory=dict)

    def add(self, cells: Mapping[str, str]) -> None:
        epochs = [cells[name] for name in _EPOCHS if name in cells]
        if epochs:
            self.has_epochs = bool(self.has_epochs) or any(each != MISSING for each in epochs)
        if _STATE in cells:
            self._add_state(cells)
        elif _MEMBER in cells:
            self._add_member(cells)

    def _add_state(self, cells: Mapping[str, str]) -> None:
        self.state = cells[_STATE]
        self.protocol = _value(cells["ASSIGNMENT-STRATEGY"])
        number = _COORDINATOR_ID.search(cells["COORDINATOR (ID)"])
        self.coordinator_id = int(number[1]) if number else None

    def _add_member(self, cells: Mapping[str, str]) -> None:
        if self.members is None:
            self.members = {}
        member_id = _value(cells[_MEMBER])
        if member_id is None:  # The row is a committed offset of a partition without an owner.
            return
        member = self.members.setdefault(
            member_id,
            {
                "member_id": member_id, "instance_id": None, "client_id": None,
                "client_host": None, "assigned": None, "target": None,
            },
        )  # fmt: skip
        member["client_id"] = _value(cells["CLIENT-ID"]) or member["client_id"]
        member["client_host"] = _value(cells["HOST"]) or member["client_host"]
        member["instance_id"] = _value(cells.get("GROUP-INSTANCE-ID", "")) or member["instance_id"]
        if _TOPIC in cells:
            topic = _value(cells[_TOPIC])
            own = [(topic, [int(cells["PARTITION"])])] if topic else []
            member["assigned"] = _joined(member["assigned"] or [], own)
            return
        for name in _ASSIGNED:
            if name in cells:
                member["assigned"] = _joined([], _partitions(cells[name]))
        if cells.get("TARGET-EPOCH", MISSING) != MISSING:
            member["target"] = _joined([], _partitions(cells[_TARGET]))
        self.counts[member_id] = cells["#PARTITIONS"].encode()

    def row(self, name: str, at: datetime) -> GroupRow:
        members, state = self.members, self._state()
        if members is None and state in ("Empty", "Dead"):
            members = {}
        listed = None if members is None else [members[key] for key in sorted(members)]
        return GroupRow(
            group_id=name,
            requested_time=at,
            described_time=at,
            group_type=_group_type(self.has_epochs),
            protocol_type="consumer" if listed else None,
            state=state,
            protocol=self.protocol,
            coordinator_id=self.coordinator_id,
            members=listed,
            error=NO_MEMBERS if listed is None else None,
            assignment_bytes={
                member["member_id"]: self.counts.get(member["member_id"], b"")
                for member in listed or ()
                if member["assigned"] is None
            },
        )

    def _state(self) -> str | None:
        """The state by --state, else by a sentence; the tool prints none for a Stable group."""
        if (
            self.state is None
            and self.state_of_sentence == "PreparingRebalance"
            and self.has_epochs
        ):
            return "Reconciling"
        state = self.state or self.state_of_sentence
        if state is None and self.members is not None:
            return "Stable" if self.members else "Empty"
        return state


def _group_type(has_epochs: bool | None) -> str | None:
    """The tool prints epochs of consumer groups since Kafka 4.0; other versions name no type."""
    return None if has_epochs is None else "consumer" if has_epochs else "classic"


def _value(text: str) -> str | None:
    return None if text in ("", MISSING) else text


def _partitions(text: str) -> list[tuple[str, list[int]]]:
    """Partitions in the form `t:0,1;u:2` (Kafka 4) or `t(0,1), u(2)`."""
    return [
        (topic, [int(number) for number in numbers.split(",") if number])
        for topic, numbers in _TOPIC_PARTITIONS.findall(text)
    ]


def _joined(
    before: list[dict[str, Any]], more: list[tuple[str, list[int]]]
) -> list[dict[str, Any]]:
    """Topics and partitions in order, so that equal assignments are equal values."""
    by_topic = {each["topic"]: set(each["partitions"]) for each in before}
    for topic, numbers in more:
        by_topic.setdefault(topic, set()).update(numbers)
    return [{"topic": topic, "partitions": sorted(by_topic[topic])} for topic in sorted(by_topic)]


def described_groups(content: bytes, timezone: str, since_ms: int | None) -> Description:
    """``timezone`` applies to dates without a zone.  ``since_ms`` is a local time that no line
    precedes, and the time of an output above which no line has a date.
    """
    clock = WallClock(timezone)
    dates = LineDates(dates_of(content, lambda: [content], since_ms), clock)
    reader = _Reader(None if since_ms is None else clock.utc_ms(since_ms))
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        header = HEADER.search(f"{line} ")
        if header is not None:
            start = header.start()
            reader.begin(number, DescribedTable(line, start), _time_of(line[:start], dates, clock))
        elif not reader.read(number, line):
            at_ms = _time_of(line, dates, clock)
            if at_ms is not None:
                reader.begin_at(at_ms)
    return reader.description()


def _time_of(text: str, dates: LineDates, clock: WallClock) -> int | None:
    """The time in UTC that a text names; a number is a time only if it is alone in its line."""
    stamps = [each for each in stamps_in(text) if not each.is_number or _is_alone(text, each)]
    if not stamps:
        return None
    local_ms, offset_minutes, _ = dates.of(stamps[-1], None)
    if local_ms is None:
        return None
    return clock.utc_ms(local_ms) if offset_minutes is None else local_ms - offset_minutes * 60_000


def _is_alone(text: str, stamp: Stamp) -> bool:
    return not (text[: stamp.start] + text[stamp.end :]).strip()


class _Reader:
    """``at_ms`` is the time of the tables that follow."""

    def __init__(self, at_ms: int | None) -> None:
        self._at_ms = at_ms
        self._without_time = NO_DATE
        self._table: DescribedTable | None = None
        self._header_line = 0
        self._groups: dict[int, dict[str, _Group]] = {}
        self._problems: list[str] = []
        self._blocked: set[str] = set()  # groups that this table describes a second time

    def begin_at(self, at_ms: int) -> None:
        beyond = beyond_dates(at_ms)
        self._at_ms, self._table = at_ms if beyond is None else None, None
        self._without_time = beyond or self._without_time

    def begin(self, number: int, table: DescribedTable, at_ms: int | None) -> None:
        """A table begins; ``at_ms`` is the time at the beginning of its header line, if any."""
        if at_ms is not None:
            self.begin_at(at_ms)
        self._table, self._header_line, self._blocked = None, number, set()
        if _GROUP not in table.columns:
            self._problems.append(
                f"line {number}: no column GROUP: print it with Kafka 2.2 or newer"
            )
        elif self._at_ms is None:
            self._problems.append(f"line {number}: {self._without_time}")
        else:
            self._table = table

    def read(self, number: int, line: str) -> bool:
        """Returns whether the line is a row or a sentence about a group."""
        sentence = SENTENCE.search(line)
        if sentence is not None:
            if self._at_ms is not None:
                self._group(sentence[1]).state_of_sentence = _STATES[sentence[2]]
            return True
        cells = None if self._table is None else self._table.cells(line)
        if cells is None:
            return False
        self._add(number, cells)
        return True

    def _add(self, number: int, cells: Mapping[str, str]) -> None:
        assert self._table is not None
        name = cells[_GROUP]
        if name in self._blocked:
            return
        group = self._group(name)
        columns, header_line = self._table.columns, self._header_line
        if group.header_lines.setdefault(columns, header_line) != header_line:
            self._blocked.add(name)
            self._problems.append(
                f"line {number}: group {name} is described again without a date in between:"
                " print `date` before each output"
            )
            return
        group.add(cells)

    def _group(self, name: str) -> _Group:
        assert self._at_ms is not None
        return self._groups.setdefault(self._at_ms, {}).setdefault(name, _Group())

    def description(self) -> Description:
        return Description(snapshots=list(self._snapshots()), problems=self._problems)

    def _snapshots(self) -> Iterator[DescribedGroups]:
        for at_ms, groups in sorted(self._groups.items()):
            at = datetime.fromtimestamp(at_ms / 1000, UTC)
            yield DescribedGroups(at, [group.row(name, at) for name, group in groups.items()])
