"""A layout as a program: the steps in which the kernel goes through a record, for every version.

A step is a row of numbers: OP, COLUMN, HOW, NULLABLE, SIZE, JUMP.  Fields become columns, the same
for all versions; a version that lacks a field writes a null for it.
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
    END,  # of the row
    WHOLE,  # nothing may be left
    NUMBER,  # of SIZE bytes
    SIZED,  # a string or bytes; SIZE is 1 for text
    ARRAY,  # elements of at least SIZE bytes, up to NEXT; without any, on to JUMP
    NEXT,  # another element at JUMP, if there is one
    RUN,  # an array of numbers of SIZE bytes
    NULL,
    THERE,  # a struct, which is not null
    MARK,  # 1 before a struct, SIZE in place of one: then on to JUMP
    TAGS,  # tagged fields follow (KIP-482), ascending
    TAG,  # the one of number SIZE; where it is not, on to JUMP
    END_TAG,  # it must end here; on to JUMP
    END_TAGS,  # no other may follow
    GO,  # on to JUMP
) = range(15)

COMPACT = 0
"""How a length is written: as a varint of one more (KIP-482), else in so many bytes."""

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
class Column:
    """Where the kernel writes what it finds of a field, or of an array's elements.

    An array's elements follow its own column. If they are structs, which are never null, only
    their fields have columns, and ``index`` is the first one's.
    """

    index: int
    type: str
    element: Column | None
    fields: dict[str, Column]


@dataclass(frozen=True)
class Program:
    steps: np.ndarray
    entries: np.ndarray
    """The step that each version begins with; the first of all makes a row of nulls."""
    columns: dict[str, Column]
    column_count: int
    depth: int
    """Arrays and tagged fields within each other, at most."""


def program(layout: Layout, whole: bool) -> Program:
    """``whole``: a row ends where its last field does."""
    return _Writer(layout, whole).program()


class _Writer:
    def __init__(self, layout: Layout, whole: bool) -> None:
        self._layout = layout
        self._ends = (WHOLE, END) if whole else (END,)
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

    # Columns

    def _column(self, field: Field, type_name: str, is_element: bool = False) -> Column:
        index = self._column_count
        is_struct = bool(field.fields) and not type_name.startswith("[]")
        self._column_count += not (is_struct and is_element)
        element, fields = None, dict[str, Column]()
        if is_struct:
            fields = {snake_case(f.name): self._column(f, f.type) for f in field.fields}
        elif type_name.startswith("[]") and type_name[2:] not in NUMBER_BYTES:
            element = self._column(field, type_name[2:], is_element=True)
        return Column(index, type_name, element, fields)

    # Steps

    def _add(
        self, op: int, column: int = 0, how: int = 0, nullable: bool = False, size: int = 0
    ) -> list[int]:
        """The step; where it jumps to comes later."""
        step = [op, column, how, nullable, size, 0]
        self._steps.append(step)
        return step

    def _here(self, *steps: list[int]) -> None:
        """What the steps jump to comes next."""
        for step in steps:
            step[JUMP] = len(self._steps)

    def _version(self, columns: dict[str, Column], version: int) -> int:
        entry = len(self._steps)
        flexible = _has(self._layout.flexible_versions, version)
        self._struct(self._layout.fields, columns, version, flexible)
        for op in self._ends:
            self._add(op)
        return entry

    def _struct(
        self, fields: Iterable[Field], columns: dict[str, Column], version: int, flexible: bool
    ) -> None:
        tagged = dict[int, tuple[Field, Column]]()
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

    def _tags(self, tagged: dict[int, tuple[Field, Column]], version: int) -> None:
        self._add(TAGS)
        for number, (field, column) in sorted(tagged.items()):
            tag = self._add(TAG, size=number)
            self._field(field, column, version, flexible=True)
            end = self._add(END_TAG)
            self._here(tag)
            self._nulls([column])
            self._here(end)
        self._add(END_TAGS)

    def _field(self, field: Field, column: Column, version: int, flexible: bool) -> None:
        null = _has(field.nullable_versions, version)
        if field.is_array:
            self._array(field, column, version, flexible, null)
        elif column.fields and null:
            self._nullable_struct(field, column, version, flexible)
        elif column.fields:
            self._add(THERE, column.index)
            self._struct(field.fields, column.fields, version, flexible)
        else:
            self._plain(column, flexible, null)

    def _plain(self, column: Column, flexible: bool, null: bool) -> None:
        if column.type in NUMBER_BYTES:
            self._add(NUMBER, column.index, size=NUMBER_BYTES[column.type])
        else:
            how, is_text = _size(column.type, flexible), column.type == "string"
            self._add(SIZED, column.index, COMPACT if flexible else how, null, is_text)

    def _nullable_struct(self, field: Field, column: Column, version: int, flexible: bool) -> None:
        absent = 0xFF if field.tag is None else 0
        mark = self._add(MARK, size=absent)
        self._add(THERE, column.index)
        self._struct(field.fields, column.fields, version, flexible)
        end = self._add(GO)
        self._here(mark)
        self._nulls([column])
        self._here(end)

    def _array(
        self, field: Field, column: Column, version: int, flexible: bool, null: bool
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

    def _nulls(self, columns: Iterable[Column]) -> None:
        """In place of the columns' fields; a null list has no elements."""
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
    """The fewest bytes; one at least, so that a count says what there must be."""
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
    """Of a number, or of the length of anything else but a struct."""
    if type_name in NUMBER_BYTES:
        return NUMBER_BYTES[type_name]
    return 1 if flexible else 2 if type_name == "string" else 4
