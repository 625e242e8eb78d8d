"""A layout as a program: the steps by which the kernel reads a record of any version.

A step is a row of integers: OP, COLUMN, HOW, NULLABLE, SIZE, JUMP.  Fields become columns, which
are the same for all versions; a version that lacks a field writes a null into its column.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from coordinator_core.records.compiler import snake_case
from coordinator_core.records.primitives import UUID_BYTES
from schemas.record_layouts import Field, Layout, Versions

OP, COLUMN, HOW, NULLABLE, SIZE, JUMP = range(6)

(
    END,  # The row is complete.
    EXACT,  # No bytes may remain.
    NUMBER,  # Read a number of SIZE bytes.
    SIZED,  # Read a string or bytes. SIZE is 1 for a string
    ARRAY,  # Read elements of at least SIZE bytes, up to NEXT; jump if the array is empty.
    NEXT,  # Jump to the first step of an element if elements remain.
    RUN,  # Read an array of numbers of SIZE bytes.
    NULL,  # a null field
    STRUCT,  # A struct that is not null starts.
    MARK,  # Read the marker of a nullable struct: 1, or SIZE for null, which jumps.
    TAGS,  # Read the number of tagged fields (KIP-482), which follow in ascending order.
    TAG,  # Read the tagged field SIZE; jump if the next tag is different.
    END_TAG,  # The tagged field must end here; jump.
    END_TAGS,  # No tagged field may remain.
    GO,  # jump
) = range(15)

COMPACT = 0
"""HOW for the length of a field: COMPACT is a varint of length + 1 (KIP-482), else its number
of bytes."""

HEADER = 2  # length in bytes of the type before a key, and of the version before a value
PADDING = 64
"""Arbitrary bytes after the end: a word may begin at the last byte, and a null number or uuid
is read from position 0, even in an empty column."""

NUMBER_BYTES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": UUID_BYTES,
}


@dataclass(frozen=True)
class FieldColumn:
    """The place where the kernel writes the positions of a field, or of an array's elements.

    The column of an array's elements comes after the array's own.  Elements that are structs, which
    are never null, have no column of their own: ``index`` is the index of their first field.
    """

    index: int
    type: str
    element: FieldColumn | None
    fields: dict[str, FieldColumn]


@dataclass(frozen=True)
class Program:
    steps: np.ndarray
    entries: np.ndarray
    """The first step of each version; step 0 begins the program of a row of nulls."""
    columns: dict[str, FieldColumn]
    column_count: int
    depth: int
    """Maximum nesting of arrays and tagged fields: the size of the kernel's stack."""


def program(layout: Layout, exact: bool) -> Program:
    """``exact`` means that no bytes may remain after the last field."""
    return _Writer(layout, exact).program()


class _Writer:
    def __init__(self, layout: Layout, exact: bool) -> None:
        self._layout = layout
        self._ends = (EXACT, END) if exact else (END,)
        self._steps: list[list[int]] = []
        self._column_count = 0

    def program(self) -> Program:
        columns = {snake_case(f.name): self._column(f, f.type) for f in self._layout.fields}
        self._nulls(columns.values())
        self._add(END)
        entries = [self._version(columns, version) for version in _versions(self._layout)]
        steps = np.array(self._steps, np.int32)
        return Program(
            steps,
            np.array(entries, np.int32),
            columns,
            self._column_count,
            _depth(steps),
        )

    # FieldColumns

    def _column(self, field: Field, type_name: str, is_element: bool = False) -> FieldColumn:
        index = self._column_count
        is_struct = bool(field.fields) and not type_name.startswith("[]")
        self._column_count += not (is_struct and is_element)
        element, fields = None, dict[str, FieldColumn]()
        if is_struct:
            fields = {snake_case(f.name): self._column(f, f.type) for f in field.fields}
        elif type_name.startswith("[]") and type_name[2:] not in NUMBER_BYTES:
            element = self._column(field, type_name[2:], is_element=True)
        return FieldColumn(index, type_name, element, fields)

    # Steps

    def _add(
        self, op: int, column: int = 0, how: int = 0, nullable: bool = False, size: int = 0
    ) -> list[int]:
        """Appends a step and returns it; its JUMP is set later."""
        step = [op, column, how, nullable, size, 0]
        self._steps.append(step)
        return step

    def _here(self, *steps: list[int]) -> None:
        """Makes the steps jump to the next step."""
        for step in steps:
            step[JUMP] = len(self._steps)

    def _version(self, columns: dict[str, FieldColumn], version: int) -> int:
        entry = len(self._steps)
        flexible = _has(self._layout.flexible_versions, version)
        self._struct(self._layout.fields, columns, version, flexible)
        for op in self._ends:
            self._add(op)
        return entry

    def _struct(
        self, fields: Iterable[Field], columns: dict[str, FieldColumn], version: int, flexible: bool
    ) -> None:
        tagged = dict[int, tuple[Field, FieldColumn]]()
        for field in fields:
            column = columns[snake_case(field.name)]
            if version not in field.versions:
                self._nulls([column])
            elif field.tag is not None and _has(field.tagged_versions, version):
                tagged[field.tag] = field, column
            else:
                self._field(field, column, version, flexible)
        if flexible:
            self._tags(tagged, version)

    def _tags(self, tagged: dict[int, tuple[Field, FieldColumn]], version: int) -> None:
        self._add(TAGS)
        for number, (field, column) in sorted(tagged.items()):
            tag = self._add(TAG, size=number)
            self._field(field, column, version, flexible=True)
            end = self._add(END_TAG)
            self._here(tag)
            self._nulls([column])
            self._here(end)
        self._add(END_TAGS)

    def _field(self, field: Field, column: FieldColumn, version: int, flexible: bool) -> None:
        null = _has(field.nullable_versions, version)
        if field.is_array:
            self._array(field, column, version, flexible, null)
        elif column.fields and null:
            self._nullable_struct(field, column, version, flexible)
        elif column.fields:
            self._add(STRUCT, column.index)
            self._struct(field.fields, column.fields, version, flexible)
        else:
            self._plain(column, flexible, null)

    def _plain(self, column: FieldColumn, flexible: bool, null: bool) -> None:
        if column.type in NUMBER_BYTES:
            self._add(NUMBER, column.index, size=NUMBER_BYTES[column.type])
        else:
            how, is_text = _size(column.type, flexible), column.type == "string"
            self._add(SIZED, column.index, COMPACT if flexible else how, null, is_text)

    def _nullable_struct(
        self, field: Field, column: FieldColumn, version: int, flexible: bool
    ) -> None:
        absent = 0xFF if field.tag is None else 0
        mark = self._add(MARK, size=absent)
        self._add(STRUCT, column.index)
        self._struct(field.fields, column.fields, version, flexible)
        end = self._add(GO)
        self._here(mark)
        self._nulls([column])
        self._here(end)

    def _array(
        self, field: Field, column: FieldColumn, version: int, flexible: bool, null: bool
    ) -> None:
        how, size = COMPACT if flexible else 4, _element_size(field, version, flexible)
        if column.element is None:
            self._add(RUN, column.index, how, null, size)
            return
        array = self._add(ARRAY, column.index, how, null, size)
        first = len(self._steps)
        if column.element.fields:
            self._struct(field.fields, column.element.fields, version, flexible)
        else:
            self._plain(column.element, flexible, null=False)
        self._add(NEXT)[JUMP] = first
        self._here(array)

    def _nulls(self, columns: Iterable[FieldColumn]) -> None:
        """Appends null fields for the columns; a null list has no elements."""
        for column in columns:
            self._add(NULL, column.index)
            self._nulls(column.fields.values())


def _depth(steps: np.ndarray) -> int:
    opened = np.isin(steps[:, OP], (ARRAY, TAGS, TAG)).astype(int)
    closed = np.isin(steps[:, OP], (NEXT, END_TAGS, END_TAG)).astype(int)
    return int(np.cumsum(opened - closed).max())


# Sizes ----------------------------------------------------------------------------------------


def _versions(layout: Layout) -> range:
    return range((layout.valid_versions.highest or 0) + 1)


def _has(versions: Versions | None, version: int) -> bool:
    return versions is not None and version in versions


def _element_size(field: Field, version: int, flexible: bool) -> int:
    """Minimum bytes of an element, at least one: bounds the count of an array."""
    if field.fields:
        return max(_struct_size(field.fields, version, flexible), 1)
    return _size(field.element_type, flexible)


def _struct_size(fields: Iterable[Field], version: int, flexible: bool) -> int:
    here = [f for f in fields if version in f.versions and not _has(f.tagged_versions, version)]
    return sum(_field_size(field, version, flexible) for field in here) + flexible


def _field_size(field: Field, version: int, flexible: bool) -> int:
    if field.is_array or not field.fields:
        return _size(field.type, flexible)
    null = _has(field.nullable_versions, version)
    return 1 if null else _struct_size(field.fields, version, flexible)


def _size(type_name: str, flexible: bool) -> int:
    """Bytes of a number, or of the length of a string, bytes or array."""
    if type_name in NUMBER_BYTES:
        return NUMBER_BYTES[type_name]
    return 1 if flexible else 2 if type_name == "string" else 4
