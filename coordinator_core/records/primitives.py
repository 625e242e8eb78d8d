"""Readers and writers of Kafka's primitive types, classic and flexible (KIP-482).

A reader takes the bytes and a position and returns the value and the position after it.  Lengths
and counts are checked against the remaining bytes before anything of that size is allocated.
"""

from __future__ import annotations

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any

from coordinator_core.records.errors import Misfit

Reader = Callable[[bytes, int], tuple[Any, int]]
Writer = Callable[[bytearray, Any], None]
LengthReader = Callable[[bytes, int], tuple[int, int]]
LengthWriter = Callable[[bytearray, int], None]

MAX_STRING = 0x7FFF  # Kafka's classes have this limit, in bytes; compact lengths could be larger
MAX_VARINT_BYTES = 5
UUID_BYTES = 16
UUID_TEXT = 22
FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
}


def cut_short(data: bytes, position: int, needed: int) -> Misfit:
    left = max(len(data) - position, 0)
    return Misfit(position, f"needs {needed} bytes, {left} left")


def never_null(position: int) -> Misfit:
    return Misfit(position, "must not be null")


# Numbers and ids ------------------------------------------------------------------------------


def number_reader(type_name: str) -> LengthReader:
    layout = struct.Struct(">" + FORMATS[type_name])
    unpack, size = layout.unpack_from, layout.size

    def read(data: bytes, position: int) -> tuple[Any, int]:
        try:
            (value,) = unpack(data, position)
        except struct.error:
            raise cut_short(data, position, size) from None
        return value, position + size

    return read


def number_writer(type_name: str) -> LengthWriter:
    pack = struct.Struct(">" + FORMATS[type_name]).pack

    def write(out: bytearray, value: Any) -> None:
        try:
            out += pack(value)
        except struct.error as error:
            raise Misfit(len(out), f"{value!r}: {error}") from None

    return write


def read_uuid(data: bytes, position: int) -> tuple[str, int]:
    """Returns Kafka's text form of a uuid: URL-safe base64 without padding."""
    end = position + UUID_BYTES
    if end > len(data):
        raise cut_short(data, position, UUID_BYTES)
    return urlsafe_b64encode(data[position:end])[:UUID_TEXT].decode("ascii"), end


def write_uuid(out: bytearray, value: str) -> None:
    raw = urlsafe_b64decode(value + "==") if len(value) == UUID_TEXT else b""
    if len(raw) != UUID_BYTES:
        raise Misfit(len(out), f"{value!r} is not a uuid")
    out += raw


# Lengths: -1 is null --------------------------------------------------------------------------

read_int16_length = number_reader("int16")
read_int32_length = number_reader("int32")
write_int16_length = number_writer("int16")
write_int32_length = number_writer("int32")


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Reads an unsigned 32-bit varint."""
    value = 0
    for index, byte in enumerate(data[position : position + MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            if value > 0xFFFFFFFF:
                break
            return value, position + index + 1
    if len(data) - position < MAX_VARINT_BYTES:
        raise Misfit(position, "varint cut short")
    raise Misfit(position, "varint of more than 32 bits")


def write_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_compact_length(data: bytes, position: int) -> tuple[int, int]:
    if position < len(data) and data[position] < 0x80:  # nearly always
        return data[position] - 1, position + 1
    value, position = read_varint(data, position)
    return value - 1, position


def write_compact_length(out: bytearray, length: int) -> None:
    write_varint(out, length + 1)


# Strings and bytes ----------------------------------------------------------------------------


def string_reader(read_length: LengthReader, nullable: bool) -> Reader:
    """Rejects malformed UTF-8, which Kafka reads as U+FFFD: it could not be written back."""

    def read(data: bytes, position: int) -> tuple[str | None, int]:
        length, start = read_length(data, position)
        if length < 0:
            if nullable:
                return None, start
            raise never_null(position)
        if length > MAX_STRING:
            raise Misfit(position, f"string of {length} bytes")
        end = start + length
        if end > len(data):
            raise cut_short(data, start, length)
        try:
            return data[start:end].decode(), end
        except UnicodeDecodeError as error:
            raise Misfit(start + error.start, "not UTF-8") from None

    return read


def string_writer(write_length: LengthWriter, nullable: bool) -> Writer:
    def write(out: bytearray, value: Any) -> None:
        if value is None and nullable:
            return write_length(out, -1)
        if not isinstance(value, str):
            raise Misfit(len(out), f"{value!r} is not a string")
        try:
            encoded = value.encode()
        except UnicodeEncodeError:
            raise Misfit(len(out), f"{value!r} cannot be encoded as UTF-8") from None
        if len(encoded) > MAX_STRING:
            raise Misfit(len(out), f"string of {len(encoded)} bytes")
        write_length(out, len(encoded))
        out += encoded

    return write


def bytes_reader(read_length: LengthReader, nullable: bool) -> Reader:
    def read(data: bytes, position: int) -> tuple[bytes | None, int]:
        length, start = read_length(data, position)
        if length < 0:
            if nullable:
                return None, start
            raise never_null(position)
        end = start + length
        if end > len(data):
            raise cut_short(data, start, length)
        return data[start:end], end

    return read


def bytes_writer(write_length: LengthWriter, nullable: bool) -> Writer:
    def write(out: bytearray, value: Any) -> None:
        if value is None and nullable:
            return write_length(out, -1)
        if not isinstance(value, bytes | bytearray | memoryview):
            raise Misfit(len(out), f"{value!r} is not bytes")
        write_length(out, len(value))
        out += value

    return write


# Arrays ---------------------------------------------------------------------------------------


def count_reader(read_length: LengthReader, nullable: bool, element_size: int) -> LengthReader:
    """An element has at least ``element_size`` bytes. The reader returns -1 for a null array."""

    def read(data: bytes, position: int) -> tuple[int, int]:
        count, start = read_length(data, position)
        if count < 0 and not nullable:
            raise never_null(position)
        if count * element_size > len(data) - start:
            left = len(data) - start
            raise Misfit(
                position,
                f"{count} elements of {element_size} bytes or more, {left} left",
            )
        return count, start

    return read


def array_reader(read_count: LengthReader, read_element: Reader) -> Reader:
    def read(data: bytes, position: int) -> tuple[list[Any] | None, int]:
        count, position = read_count(data, position)
        if count < 0:
            return None, position
        elements: list[Any] = []
        try:
            for _ in range(count):
                element, position = read_element(data, position)
                elements.append(element)
        except Misfit as misfit:
            raise misfit.inside(f"[{len(elements)}]") from None
        return elements, position

    return read


def number_array_reader(read_count: LengthReader, type_name: str) -> Reader:
    """Reads all elements in one call: partition lists are long."""
    size, code = struct.calcsize(">" + FORMATS[type_name]), FORMATS[type_name]

    def read(data: bytes, position: int) -> tuple[list[Any] | None, int]:
        count, position = read_count(data, position)
        if count < 0:
            return None, position
        return list(struct.unpack_from(f">{count}{code}", data, position)), position + count * size

    return read


def array_writer(write_length: LengthWriter, nullable: bool, write_element: Writer) -> Writer:
    def write(out: bytearray, value: Any) -> None:
        if value is None and nullable:
            return write_length(out, -1)
        if not isinstance(value, list | tuple):
            raise Misfit(len(out), f"{value!r} is not an array")
        write_length(out, len(value))
        for index, element in enumerate(value):
            try:
                write_element(out, element)
            except Misfit as misfit:
                raise misfit.inside(f"[{index}]") from None

    return write
