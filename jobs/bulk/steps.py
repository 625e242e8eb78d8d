"""The steps of a plan: how a field of many rows is found, with a few array operations.

A step refuses a row rather than judge it: whatever is not certain to be read as the reference
codec reads it is marked bad, and the reference has the last word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from coordinator_core.records.primitives import MAX_STRING, Reader
from jobs.bulk.columns import NO_ROWS, Array, Column, Numbers, Partial, Runs, Sized, Struct
from jobs.bulk.data import Data
from jobs.bulk.jumps import Jumps, walk, walk_by_reference
from jobs.bulk.lengths import Lengths
from schemas.record_layouts import Versions

HASTY, SURE = 0, 2  # how much care is taken in a walk; 1 between them


@dataclass(slots=True)
class Rows:
    """How far a walk has come; ``at`` is never far behind ``end`` where ``bad`` is not set.

    ``version`` is None where all are of one.
    """

    at: np.ndarray
    end: np.ndarray
    version: np.ndarray | None
    bad: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.bad = np.zeros(len(self.at), bool)

    def some(self, rows: np.ndarray) -> Rows:
        version = None if self.version is None else self.version[rows]
        return Rows(self.at[rows], self.end[rows], version)

    def pass_by(self, at: np.ndarray) -> None:
        """Go on at ``at``, unless that is behind the end."""
        over = at > self.end
        if over.any():
            self.bad |= over
            at = np.minimum(at, self.end)
        self.at = at


@dataclass(frozen=True, slots=True)
class NumberStep:
    type: str
    dtype: np.dtype
    size: int

    def read(self, data: Data, rows: Rows) -> Column:
        column = Numbers(self.type, self.dtype, rows.at)
        rows.at = rows.at + self.size
        return column


@dataclass(frozen=True, slots=True)
class SizedStep:
    lengths: Lengths
    text: bool
    null: bool
    size: int

    def read(self, data: Data, rows: Rows) -> Column:
        length, start = self.lengths.read(data, rows.at)
        if length.min(initial=0) >= 0:
            rows.pass_by(start + length)
        else:
            if not self.null:
                rows.bad |= length < 0
            rows.pass_by(start + np.maximum(length, 0))
        if self.text and length.max(initial=0) > MAX_STRING:
            rows.bad |= length > MAX_STRING
        return Sized(start, length, self.text)


@dataclass(frozen=True, slots=True)
class Element:
    """How to get from one to the next in one version; ``jumps`` is None where none is quick."""

    jumps: Jumps | None
    read: Reader
    """The reference's."""

    def starts(self, data: Data, rows: Rows, count: np.ndarray, care: int) -> np.ndarray:
        if care == SURE or self.jumps is None:
            return walk_by_reference(data, rows.at, rows.end, count, self.read)
        return walk(data, rows.at, rows.end, count, self.jumps, wide=care > HASTY)


@dataclass(frozen=True, slots=True)
class ArrayStep:
    lengths: Lengths
    element: Step
    null: bool
    size: int
    elements: Mapping[int, Element]
    """By version."""

    def read(self, data: Data, rows: Rows) -> Column:
        count, start = self.lengths.read(data, rows.at)
        bad = count * max(self.element.size, 1) > rows.end - start
        if not self.null:
            bad |= count < 0
        if bad.any():
            rows.bad |= bad
            count[bad] = 0
        rows.at = np.minimum(start, rows.end)
        held = np.maximum(count, 0) if self.null else count
        if isinstance(self.element, NumberStep):
            runs = Runs(self.element.type, self.element.dtype, rows.at, held)
            rows.at = rows.at + held * self.element.size
            return Array(count, runs)
        return Array(count, self._elements(data, rows, held))

    def _elements(self, data: Data, rows: Rows, count: np.ndarray) -> Column:
        """``count`` elements from ``rows.at`` on, which goes behind the last."""
        if count.max(initial=0) > 1:
            return self._walked(data, rows, count)
        if count.min(initial=1) == 1:  # mostly so: consumers of one topic
            column = self.element.read(data, rows)
            rows.pass_by(rows.at)
            return column
        owner = np.flatnonzero(count)
        inner = rows.some(owner)
        column = self.element.read(data, inner)
        inner.pass_by(inner.at)
        rows.at[owner] = inner.at
        rows.bad[owner] |= inner.bad
        return column

    def _walked(self, data: Data, rows: Rows, count: np.ndarray) -> Column:
        """Elements are read where a guess has them start; it was right if each ends where the next
        one starts.  Rows where it was wrong are walked again, with more care."""
        owner = np.repeat(np.arange(len(count)), count)
        end = rows.end[owner]
        version = None if rows.version is None else rows.version[owner]
        care = HASTY
        starts = self._starts(data, rows, count, care)
        while True:
            inner = Rows(starts, end, version)
            column = self.element.read(data, inner)
            inner.pass_by(inner.at)
            wrong = owner[_wrong(starts, inner, count)]
            if care == SURE or not len(wrong):
                break
            care += 1
            again = np.unique(wrong)
            better = self._starts(data, rows.some(again), count[again], care)
            starts[np.isin(owner, again)] = better
        rows.bad[wrong] = True
        rows.at = np.where(count > 0, inner.at[np.cumsum(count) - 1], rows.at)
        return column

    def _starts(self, data: Data, rows: Rows, count: np.ndarray, care: int) -> np.ndarray:
        if rows.version is None:
            (element,) = self.elements.values()
            return element.starts(data, rows, count, care)
        starts = np.empty(int(count.sum()), np.int64)
        version = np.repeat(rows.version, count)
        for number, element in self.elements.items():
            mine = np.flatnonzero(rows.version == number)
            found = element.starts(data, rows.some(mine), count[mine], care)
            starts[version == number] = found
        return starts


def _wrong(starts: np.ndarray, inner: Rows, count: np.ndarray) -> np.ndarray:
    """Elements that cannot be read, or do not end where the next one of the row starts."""
    goes_on = np.ones(len(starts), bool)
    goes_on[np.cumsum(count[count > 0]) - 1] = False
    goes_on[:-1] &= inner.at[:-1] != starts[1:]
    return np.flatnonzero(inner.bad | goes_on)


@dataclass(frozen=True, slots=True)
class PartialStep:
    """A field of some versions only, or of none of those at hand."""

    step: Step
    versions: Versions
    size: ClassVar[int] = 0

    def read(self, data: Data, rows: Rows) -> Column:
        if rows.version is None:  # one, and it lacks the field
            return Partial(len(rows.at), NO_ROWS, self.step.read(data, rows.some(NO_ROWS)))
        found = np.flatnonzero(self._is_there(rows.version))
        part = rows.some(found)
        column = self.step.read(data, part)
        rows.at = rows.at.copy()
        rows.at[found] = part.at
        rows.bad[found] |= part.bad
        return Partial(len(rows.at), found, column)

    def _is_there(self, version: np.ndarray) -> np.ndarray:
        highest = self.versions.highest
        there = version >= self.versions.lowest
        return there if highest is None else there & (version <= highest)


@dataclass(frozen=True, slots=True)
class NullableStep:
    """A struct behind a mark: 1, or ``absent`` for null."""

    step: StructStep
    absent: int
    size: ClassVar[int] = 1

    def read(self, data: Data, rows: Rows) -> Column:
        mark = data.bytes[rows.at]
        rows.bad |= (mark != 1) & (mark != self.absent)
        rows.pass_by(rows.at + 1)
        there = np.flatnonzero(mark == 1)
        part = rows.some(there)
        column = self.step.read(data, part)
        rows.at[there] = part.at
        rows.bad[there] |= part.bad
        return Partial(len(rows.at), there, column)


@dataclass(frozen=True, slots=True)
class TagsStep:
    """Tagged fields (KIP-482), known ones by rising tags. Other rows are the reference's."""

    known: Mapping[int, tuple[str, Step]]
    size: ClassVar[int] = 1

    def read(self, data: Data, rows: Rows) -> Struct:
        count, rows.at = data.varints(rows.at)
        rows.bad |= count > len(self.known)
        start, end = self._places(data, rows, count)
        fields: dict[str, Column] = {}
        for number, (name, step) in self.known.items():
            mine = np.flatnonzero(start[number] >= 0)
            version = None if rows.version is None else rows.version[mine]
            part = Rows(start[number][mine], end[number][mine], version)
            fields[name] = Partial(len(rows.at), mine, step.read(data, part))
            rows.bad[mine] |= part.bad | (part.at != part.end)
        return Struct(len(rows.at), fields)

    def _places(
        self, data: Data, rows: Rows, count: np.ndarray
    ) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
        """Where each field starts and ends, -1 where it is not; ``rows`` go behind the last."""
        start = {number: np.full(len(count), -1) for number in self.known}
        end = {number: np.full(len(count), -1) for number in self.known}
        before = np.full(len(count), -1)
        left = np.flatnonzero(~rows.bad)
        for place in range(len(self.known)):
            left = left[count[left] > place]
            if not len(left):
                break
            limit = rows.end[left]
            tag, at = data.varints(np.minimum(rows.at[left], limit))
            length, at = data.varints(np.minimum(at, limit))
            rows.bad[left] |= (length > limit - at) | (tag <= before[left])
            rows.bad[left] |= ~np.isin(tag, list(self.known))
            rows.at[left] = behind = np.minimum(at + length, limit)
            before[left] = tag
            for number in self.known:
                mine = tag == number
                start[number][left[mine]] = np.minimum(at, limit)[mine]
                end[number][left[mine]] = behind[mine]
        return start, end


@dataclass(frozen=True, slots=True)
class StructStep:
    fields: Sequence[tuple[str, Step]]
    tags: TagsStep | None
    size: int

    def read(self, data: Data, rows: Rows) -> Struct:
        found = {name: step.read(data, rows) for name, step in self.fields}
        if self.tags is not None:
            found |= self.tags.read(data, rows).fields
        return Struct(len(rows.at), found)


Step = NumberStep | SizedStep | ArrayStep | PartialStep | NullableStep | StructStep
