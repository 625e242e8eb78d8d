"""Compiles a layout and a version into one reader and one writer."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from coordinator_core.records.errors import BadRecord, Misfit, UnwritableFields
from coordinator_core.records.primitives import (
    FORMATS,
    UUID_BYTES,
    UUID_TEXT,
    Reader,
    Writer,
    array_reader,
    array_writer,
    bytes_reader,
    bytes_writer,
    count_reader,
    cut_short,
    number_array_reader,
    number_reader,
    number_writer,
    read_compact_length,
    read_int16_length,
    read_int32_length,
    read_uuid,
    read_varint,
    string_reader,
    string_writer,
    write_compact_length,
    write_int16_length,
    write_int32_length,
    write_uuid,
    write_varint,
)
from schemas.record_layouts import Field, Layout

UNKNOWN_TAGS = "unknown_tagged_fields"
"""Key under which a struct keeps tagged fields that its layout lacks: a list of [tag, bytes]."""

REQUIRED = object()


def snake_case(name: str) -> str:
    """``groupInstanceId`` and ``GroupInstanceId`` become ``group_instance_id``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@dataclass(frozen=True)
class Part:
    """Reader and writer of one type; ``size`` is the minimum number of bytes."""

    read: Reader
    write: Writer
    size: int


@dataclass(frozen=True)
class StructField:
    name: str
    part: Part
    default: Any
    """REQUIRED if a writer must give the field's value."""


Tagged = Mapping[int | None, StructField]


# Types ----------------------------------------------------------------------------------------


def compile_type(field: Field, type_name: str, version: int, flexible: bool, null: bool) -> Part:
    if type_name.startswith("[]"):
        element = compile_type(field, type_name[2:], version, flexible, null=False)
        return _array(element, type_name[2:], flexible, null)
    if type_name in FORMATS:
        size = struct.calcsize(">" + FORMATS[type_name])
        return Part(number_reader(type_name), number_writer(type_name), size)
    if type_name == "uuid":
        return Part(read_uuid, write_uuid, UUID_BYTES)
    if type_name == "string":
        return _string(flexible, null)
    if type_name == "bytes":
        return _bytes(flexible, null)
    part = compile_struct(field.fields, version, flexible)
    return _nullable(part, field) if null else part


def _string(flexible: bool, null: bool) -> Part:
    if flexible:
        read = string_reader(read_compact_length, null)
        return Part(read, string_writer(write_compact_length, null), 1)
    read = string_reader(read_int16_length, null)
    return Part(read, string_writer(write_int16_length, null), 2)


def _bytes(flexible: bool, null: bool) -> Part:
    if flexible:
        read = bytes_reader(read_compact_length, null)
        return Part(read, bytes_writer(write_compact_length, null), 1)
    read = bytes_reader(read_int32_length, null)
    return Part(read, bytes_writer(write_int32_length, null), 4)


def _array(element: Part, element_type: str, flexible: bool, null: bool) -> Part:
    read_length = read_compact_length if flexible else read_int32_length
    write_length = write_compact_length if flexible else write_int32_length
    read_count = count_reader(read_length, null, element.size)
    read = (
        number_array_reader(read_count, element_type)
        if element_type in FORMATS
        else array_reader(read_count, element.read)
    )
    return Part(read, array_writer(write_length, null, element.write), 1 if flexible else 4)


def _nullable(part: Part, field: Field) -> Part:
    """Puts a marker byte before a nullable struct: 1, or for null 0 in a tagged field, else -1."""
    absent = 0 if field.tag is not None else 0xFF

    def read(data: bytes, position: int) -> tuple[Any, int]:
        if position >= len(data):
            raise cut_short(data, position, 1)
        if data[position] == absent:
            return None, position + 1
        if data[position] != 1:
            raise Misfit(position, f"{data[position]} marks neither a struct nor null")
        return part.read(data, position + 1)

    def write(out: bytearray, value: Any) -> None:
        if value is None:
            out.append(absent)
            return
        out.append(1)
        part.write(out, value)

    return Part(read, write, 1)


# Structs --------------------------------------------------------------------------------------


def compile_struct(fields: Sequence[Field], version: int, flexible: bool) -> Part:
    here = [field for field in fields if version in field.versions]
    tagged: Tagged = {
        field.tag: _struct_field(field, version, flexible)
        for field in here
        if field.tag is not None and field.tagged_versions and version in field.tagged_versions
    }
    plain = [_struct_field(field, version, flexible) for field in here if field.tag not in tagged]
    names = {snake_case(field.name) for field in fields} | ({UNKNOWN_TAGS} if flexible else set())
    read, write = _plain_reader(plain), _plain_writer(plain, names)
    size = sum(field.part.size for field in plain)
    if not flexible:
        return Part(read, write, size)
    return Part(_with_tags_read(read, tagged), _with_tags_written(write, tagged), size + 1)


def _struct_field(field: Field, version: int, flexible: bool) -> StructField:
    null = field.nullable_versions is not None and version in field.nullable_versions
    part = compile_type(field, field.type, version, flexible, null)
    return StructField(snake_case(field.name), part, _default(field))


def _default(field: Field) -> Any:
    if field.has_default:
        return field.default
    return REQUIRED if field.tag is None else _empty(field)


def _empty(field: Field) -> Any:
    """Initial value in Kafka's generated classes, also for nullable fields."""
    if field.is_array:
        return []
    if field.fields:
        return {snake_case(f.name): f.default if f.has_default else _empty(f) for f in field.fields}
    return {"uuid": "A" * UUID_TEXT, "string": "", "bytes": b"", "bool": False}.get(field.type, 0)


def _plain_reader(fields: Sequence[StructField]) -> Reader:
    steps = [(field.name, field.part.read) for field in fields]

    def read(data: bytes, position: int) -> tuple[dict[str, Any], int]:
        value = {}
        name = ""
        try:
            for name, read_field in steps:
                value[name], position = read_field(data, position)
        except Misfit as misfit:
            raise misfit.inside(name) from None
        return value, position

    return read


def _plain_writer(fields: Sequence[StructField], names: set[str]) -> Writer:
    """``names`` are fields of all versions; fields of other versions are skipped, as in Kafka."""
    steps = [(field.name, field.part.write, field.default) for field in fields]

    def write(out: bytearray, value: Any) -> None:
        if not isinstance(value, Mapping):
            raise Misfit(len(out), f"{value!r} is not a struct")
        if not value.keys() <= names:
            raise Misfit(len(out), f"unknown field: {min(value.keys() - names)}")
        for name, write_field, default in steps:
            field_value = value.get(name, default)
            try:
                if field_value is REQUIRED:
                    raise Misfit(len(out), "missing")
                write_field(out, field_value)
            except Misfit as misfit:
                raise misfit.inside(name) from None

    return write


# Tagged fields --------------------------------------------------------------------------------


def _with_tags_read(read_plain: Reader, tagged: Tagged) -> Reader:
    defaults = {field.name: field.default for field in tagged.values()}
    fresh = deepcopy if any(isinstance(d, list | dict) for d in defaults.values()) else dict

    def read(data: bytes, position: int) -> tuple[dict[str, Any], int]:
        value, position = read_plain(data, position)
        value |= fresh(defaults)
        if position < len(data) and data[position] == 0:  # nearly always
            return value, position + 1
        try:
            return value, _read_tags(data, position, tagged, value)
        except Misfit as misfit:
            raise (misfit if misfit.path else misfit.inside("tagged fields")) from None

    return read


def _read_tags(data: bytes, position: int, tagged: Tagged, value: dict[str, Any]) -> int:
    count, position = read_varint(data, position)
    # Each tag takes at least one byte, so a count that is too high fails at the end of the bytes.
    for _ in range(count):
        tag, position = read_varint(data, position)
        size, position = read_varint(data, position)
        end = position + size
        if end > len(data):
            raise cut_short(data, position, size)
        if tag in tagged:
            _read_tag(data[:end], position, tagged[tag], value)
        else:
            value.setdefault(UNKNOWN_TAGS, []).append([tag, data[position:end]])
        position = end
    return position


def _read_tag(data: bytes, position: int, field: StructField, value: dict[str, Any]) -> None:
    try:
        value[field.name], end = field.part.read(data, position)
        if end != len(data):
            raise Misfit(end, f"{len(data) - end} bytes are left in the tagged field")
    except Misfit as misfit:
        raise misfit.inside(field.name) from None


def _with_tags_written(write_plain: Writer, tagged: Tagged) -> Writer:
    def write(out: bytearray, value: Any) -> None:
        write_plain(out, value)
        bytes_by_tag = dict(_unknown_tags(out, value))
        for tag, field in tagged.items():
            field_value = value.get(field.name, field.default)
            if field_value != field.default:  # Kafka omits default values.
                bytes_by_tag[tag] = _tag_bytes(field, field_value, len(out))
        write_varint(out, len(bytes_by_tag))
        for tag in sorted(bytes_by_tag):
            write_varint(out, tag)
            write_varint(out, len(bytes_by_tag[tag]))
            out += bytes_by_tag[tag]

    return write


def _unknown_tags(out: bytearray, value: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    try:
        return [(tag, bytes(data)) for tag, data in value.get(UNKNOWN_TAGS, ())]
    except (TypeError, ValueError):
        raise Misfit(len(out), "expected a list of [tag, bytes]").inside(UNKNOWN_TAGS) from None


def _tag_bytes(field: StructField, value: Any, position: int) -> bytes:
    out = bytearray()
    try:
        field.part.write(out, value)
    except Misfit as misfit:
        misfit.position += position
        raise misfit.inside(field.name) from None
    return bytes(out)


# Messages -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MessageCodec:
    """A layout in one version.  ``version`` is None for a key: keys have no version."""

    name: str
    version: int | None
    part: Part
    required: frozenset[str]
    names: frozenset[str]

    def read(self, data: bytes, position: int) -> tuple[dict[str, Any], int]:
        """Returns the fields and the position after them; raises BadRecord."""
        try:
            value, end = self.part.read(data, position)
        except Misfit as misfit:
            raise self.bad(BadRecord, misfit.path, misfit.position, misfit.reason) from None
        return value, end

    def read_all(self, data: bytes, position: int) -> dict[str, Any]:
        """Returns the fields; raises BadRecord also if bytes remain after the last one.

        Kafka's loaders ignore such bytes.  No broker writes them, so they mean that the record
        is not of the type and version that it claims.
        """
        value, end = self.read(data, position)
        if end != len(data):
            reason = f"{len(data) - end} bytes after the last field"
            raise self.bad(BadRecord, "end", end, reason)
        return value

    def write(self, out: bytearray, fields: Mapping[str, Any]) -> None:
        """Appends the bytes to ``out``; raises UnwritableFields."""
        try:
            self.part.write(out, fields)
        except Misfit as misfit:
            path = misfit.path or "fields"
            raise self.bad(UnwritableFields, path, misfit.position, misfit.reason) from None

    def bad(
        self, error: Callable[..., BadRecord], field: str, position: int, reason: str
    ) -> BadRecord:
        return error(self.name, self.version, field, position, reason)

    def fits(self, fields: Mapping[str, Any]) -> bool:
        return self.required <= fields.keys() <= self.names


def compile_message(layout: Layout, version: int) -> MessageCodec:
    flexible = layout.flexible_versions is not None and version in layout.flexible_versions
    here = [field for field in layout.fields if version in field.versions]
    names = frozenset(snake_case(field.name) for field in layout.fields) | {UNKNOWN_TAGS}
    return MessageCodec(
        name=layout.name,
        version=None if layout.type == "coordinator-key" else version,
        part=compile_struct(layout.fields, version, flexible),
        required=frozenset(snake_case(f.name) for f in here if _default(f) is REQUIRED),
        names=names,
    )
