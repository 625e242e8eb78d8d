"""Turns a layout and the versions at hand into one plan, which walks over all rows field by field.

A plan finds where each field of each row lies, with a few array operations a field.  It refuses a
row rather than judge it: whatever is not certain to be read as the reference codec reads it is
marked bad, and the reference has the last word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from coordinator_core.records.compiler import compile_type, snake_case
from coordinator_core.records.errors import Misfit
from coordinator_core.records.primitives import MAX_STRING, Reader
from jobs.bulk.columns import Array, Column, Numbers, Partial, Sized, Struct
from jobs.bulk.data import Data
from schemas.record_layouts import Field, Layout, Versions

NARROW = 32
"""Rows with a further element, below which one by one is faster than array by array."""
MAX_BYTES = 0x7FFFFFFF

Lengths = Callable[[Data, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(slots=True)
class Rows:
    """How far a walk has come; ``at`` is never far behind ``end`` where ``bad`` is not set."""

    at: np.ndarray
    end: np.ndarray
    version: np.ndarray
    bad: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.bad = np.zeros(len(self.at), bool)

    def some(self, rows: np.ndarray) -> Rows:
        return Rows(self.at[rows], self.end[rows], self.version[rows])


# Steps: `read` finds the fields, `skip` only where they end ------------------------------------


@dataclass(frozen=True, slots=True)
class NumberStep:
    type: str
    dtype: np.dtype
    size: int

    def read(self, data: Data, rows: Rows) -> Column:
        column = Numbers(self.type, self.dtype, rows.at)
        rows.at = rows.at + self.size
        return column

    def skip(self, data: Data, rows: Rows) -> None:
        rows.at = rows.at + self.size

    @property
    def is_fixed(self) -> bool:
        return True

    can_skip = is_fixed


@dataclass(frozen=True, slots=True)
class SizedStep:
    lengths: Lengths
    text: bool
    null: bool
    size: int

    def read(self, data: Data, rows: Rows) -> Column:
        length, start = self.lengths(data, rows.at)
        rows.bad |= np.maximum(length, 0) > rows.end - start
        rows.bad |= length > (MAX_STRING if self.text else MAX_BYTES)
        if not self.null:
            rows.bad |= length < 0
        rows.at = np.minimum(start + np.maximum(length, 0), rows.end)
        return Sized(start, length, self.text)

    def skip(self, data: Data, rows: Rows) -> None:
        length, start = self.lengths(data, rows.at)
        rows.at = np.minimum(start + np.maximum(length, 0), rows.end)

    @property
    def is_fixed(self) -> bool:
        return False

    @property
    def can_skip(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class ArrayStep:
    lengths: Lengths
    element: Step
    null: bool
    size: int
    read_one: Mapping[int, Reader]
    """The reference's reader of one element, by version."""

    def read(self, data: Data, rows: Rows) -> Column:
        count, start = self.lengths(data, rows.at)
        bad = np.maximum(count, 0) * self.element.size > rows.end - start
        if not self.null:
            bad |= count < 0
        rows.bad |= bad
        count[bad] = 0
        rows.at = np.minimum(start, rows.end)
        owner = Array(count, Struct(0, {})).owner
        at_most_one = count.max(initial=0) <= 1  # mostly so: consumers of one topic
        starts = rows.at[owner] if at_most_one else self._starts(data, rows, count)
        inner = Rows(starts, rows.end[owner], rows.version[owner])
        column = self.element.read(data, inner)
        inner.bad |= inner.at > inner.end
        rows.bad[owner[inner.bad]] = True
        if at_most_one:
            rows.at[owner] = np.minimum(inner.at, inner.end)
        return Array(count, column)

    def _starts(self, data: Data, rows: Rows, count: np.ndarray) -> np.ndarray:
        """Where each element starts; ``rows`` go on behind the last."""
        count = np.maximum(count, 0)
        first = np.cumsum(count) - count
        if self.element.is_fixed:
            index = np.arange(int(count.sum())) - np.repeat(first, count)
            starts = np.repeat(rows.at, count) + index * self.element.size
            rows.at = rows.at + count * self.element.size
            return starts
        return self._walked_starts(data, rows, count, first)

    def _walked_starts(
        self, data: Data, rows: Rows, count: np.ndarray, first: np.ndarray
    ) -> np.ndarray:
        """All rows in step: the first element of each, then the second of each, and so on."""
        starts = np.empty(int(count.sum()), np.int64)
        order = np.argsort(-count, kind="stable")  # so that rows with a next element come first
        walk, slot = rows.some(order), first[order]
        widths = np.searchsorted(-count[order], -np.arange(int(count.max(initial=0))), "left")
        can_skip = self.element.can_skip
        step = 0
        for step, width in enumerate(widths.tolist()):
            if width < NARROW or not can_skip:
                break
            part = Rows(walk.at[:width], walk.end[:width], walk.version[:width])
            starts[slot[:width] + step] = part.at
            self.element.skip(data, part)
            walk.at[:width] = part.at
        else:
            step = len(widths)
        width = int(widths[step]) if step < len(widths) else 0
        for row in range(width):
            slots = slice(int(slot[row]) + step, int(slot[row] + count[order[row]]))
            walk.at[row] = self._one_by_one(data, walk, row, starts[slots])
        rows.at = np.empty_like(walk.at)
        rows.at[order] = walk.at
        return starts

    def _one_by_one(self, data: Data, walk: Rows, row: int, starts: np.ndarray) -> int:
        """By the reference; an element that it cannot read is found again by `read`."""
        base, end = int(walk.at[row]), int(walk.end[row])
        read, content, at = self.read_one[int(walk.version[row])], data.bytes[base:end].tobytes(), 0
        starts[:] = end
        for index in range(len(starts)):
            starts[index] = base + at
            try:
                _, at = read(content, at)
            except Misfit:
                return end
        return base + at

    def skip(self, data: Data, rows: Rows) -> None:
        count, start = self.lengths(data, rows.at)
        rows.at = np.minimum(start + np.maximum(count, 0) * self.element.size, rows.end)

    @property
    def is_fixed(self) -> bool:
        return False

    @property
    def can_skip(self) -> bool:
        return self.element.is_fixed


@dataclass(frozen=True, slots=True)
class PartialStep:
    """A field of some versions only."""

    step: Step
    versions: Versions

    def read(self, data: Data, rows: Rows) -> Column:
        found = np.flatnonzero(self._is_there(rows))
        part = rows.some(found)
        column = self.step.read(data, part)
        rows.at = rows.at.copy()
        rows.at[found] = part.at
        rows.bad[found] |= part.bad
        return Partial(len(rows.at), found, column)

    def skip(self, data: Data, rows: Rows) -> None:
        before = rows.at
        self.step.skip(data, rows)
        rows.at = np.where(self._is_there(rows), rows.at, before)

    def _is_there(self, rows: Rows) -> np.ndarray:
        highest = self.versions.highest
        there = rows.version >= self.versions.lowest
        return there if highest is None else there & (rows.version <= highest)

    @property
    def size(self) -> int:
        return 0

    @property
    def is_fixed(self) -> bool:
        return False

    @property
    def can_skip(self) -> bool:
        return self.step.can_skip


@dataclass(frozen=True, slots=True)
class TagsStep:
    """Tagged fields (KIP-482): none, or one that is known. Other rows are the reference's."""

    known: Mapping[int, tuple[str, Step]]
    size: int = 1

    def read(self, data: Data, rows: Rows) -> Column:
        count, after = data.varints(rows.at)
        one = np.flatnonzero(count == 1)
        rows.bad |= count > bool(self.known)
        part = Rows(after[one], rows.end[one], rows.version[one])
        fields = self._fields(data, part, one, len(rows.at))
        rows.at = after
        rows.at[one] = part.at
        rows.bad[one] |= part.bad
        return Struct(len(rows.at), fields)

    def _fields(self, data: Data, rows: Rows, one: np.ndarray, size: int) -> dict[str, Column]:
        tag, at = data.varints(rows.at)
        length, at = data.varints(at)
        rows.bad |= (length > rows.end - at) | ~np.isin(tag, list(self.known))
        rows.at = np.minimum(at + length, rows.end)
        fields: dict[str, Column] = {}
        for number, (name, step) in self.known.items():
            mine = np.flatnonzero(tag == number)
            part = Rows(np.minimum(at, rows.end)[mine], rows.at[mine], rows.version[mine])
            fields[name] = Partial(size, one[mine], step.read(data, part))
            rows.bad[mine] |= part.bad | (part.at != part.end)
        return fields

    def skip(self, data: Data, rows: Rows) -> None:
        rows.at = rows.at + 1  # or `read` finds the row bad

    @property
    def is_fixed(self) -> bool:
        return False

    @property
    def can_skip(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class StructStep:
    fields: Sequence[tuple[str, Step]]
    tags: TagsStep | None
    size: int

    def read(self, data: Data, rows: Rows) -> Column:
        found = {name: step.read(data, rows) for name, step in self.fields}
        if self.tags is not None:
            tagged = self.tags.read(data, rows)
            assert isinstance(tagged, Struct)
            found |= tagged.fields
        return Struct(len(rows.at), found)

    def skip(self, data: Data, rows: Rows) -> None:
        for _, step in self.fields:
            step.skip(data, rows)
        if self.tags is not None:
            self.tags.skip(data, rows)

    @property
    def is_fixed(self) -> bool:
        return self.tags is None and all(step.is_fixed for _, step in self.fields)

    @property
    def can_skip(self) -> bool:
        return all(step.can_skip for _, step in self.fields)


Step = NumberStep | SizedStep | ArrayStep | PartialStep | StructStep


# Plans ----------------------------------------------------------------------------------------


class NoPlan(ValueError):
    """A layout with something that plans do not know; the reference reads all of it."""


@dataclass(frozen=True)
class Plan:
    """A layout in versions that are all flexible or all not."""

    step: StructStep

    def walk(
        self, data: Data, start: np.ndarray, end: np.ndarray, version: np.ndarray
    ) -> tuple[Struct, np.ndarray, np.ndarray]:
        """The fields, where they end, and which rows are bad."""
        rows = Rows(start, end, version)
        found = self.step.read(data, rows)
        assert isinstance(found, Struct)
        return found, rows.at, rows.bad | (rows.at > end)


@cache
def plan(layout: Layout, versions: frozenset[int]) -> Plan:
    """NoPlan."""
    return Plan(_struct(layout.fields, versions, is_flexible(layout, min(versions))))


def is_flexible(layout: Layout, version: int) -> bool:
    return layout.flexible_versions is not None and version in layout.flexible_versions


def _struct(fields: Iterable[Field], versions: frozenset[int], flexible: bool) -> StructStep:
    plain: list[tuple[str, Step]] = []
    tagged: dict[int, tuple[str, Step]] = {}
    for found in fields:
        has = {found.tagged_versions is not None and v in found.tagged_versions for v in versions}
        if found.tag is not None and has == {True}:
            tagged[found.tag] = snake_case(found.name), _step(found, found.type, versions, flexible)
        elif found.tag is None:
            plain.append((snake_case(found.name), _field(found, versions, flexible)))
    tags = TagsStep(tagged) if flexible else None
    return StructStep(plain, tags, sum(step.size for _, step in plain) + flexible)


def _field(found: Field, versions: frozenset[int], flexible: bool) -> Step:
    here = frozenset(v for v in versions if v in found.versions)
    step = _step(found, found.type, here, flexible)
    return step if here == versions else PartialStep(step, found.versions)


def _step(found: Field, type_name: str, versions: frozenset[int], flexible: bool) -> Step:
    null = _is_nullable(found, versions)
    if type_name.startswith("[]"):
        return _array(found, type_name[2:], versions, flexible, null)
    return _scalar(found, type_name, versions, flexible, null)


def _scalar(
    found: Field, type_name: str, versions: frozenset[int], flexible: bool, null: bool
) -> Step:
    if type_name in _NUMPY:
        dtype = np.dtype(_NUMPY[type_name])
        return NumberStep(type_name, dtype, dtype.itemsize)
    if type_name == "string":
        lengths = Data.compact_lengths if flexible else Data.int16_lengths
        return SizedStep(lengths, True, null, 1 if flexible else 2)
    if type_name == "bytes":
        lengths = Data.compact_lengths if flexible else Data.int32_lengths
        return SizedStep(lengths, False, null, 1 if flexible else 4)
    if null:
        raise NoPlan(f"{found.name}: a struct that may be null")
    return _struct(found.fields, versions, flexible)


_NUMPY = {
    "bool": "u1",
    "int8": "i1",
    "int16": ">i2",
    "uint16": ">u2",
    "int32": ">i4",
    "uint32": ">u4",
    "int64": ">i8",
    "float64": ">f8",
    "uuid": "V16",
}


def _is_nullable(found: Field, versions: frozenset[int]) -> bool:
    nullable = found.nullable_versions
    has = {nullable is not None and v in nullable for v in versions}
    if len(has) > 1:
        raise NoPlan(f"{found.name}: may be null in some versions")
    return True in has


def _array(
    found: Field, element_type: str, versions: frozenset[int], flexible: bool, null: bool
) -> ArrayStep:
    element = _scalar(found, element_type, versions, flexible, null=False)
    lengths = Data.compact_lengths if flexible else Data.int32_lengths
    read_one = {
        v: compile_type(found, element_type, v, flexible, null=False).read for v in versions
    }
    return ArrayStep(lengths, element, null, 1 if flexible else 4, read_one)
