"""Records of ``__consumer_offsets``: bytes to named fields and back, every type and version.

Field names are Kafka's in snake_case.  Bytes stay bytes; topic ids become Kafka's text form of a
uuid.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple

from coordinator_core.records.compiler import MessageCodec, compile_message
from coordinator_core.records.errors import BadRecord, NewerValueVersion, UnknownKeyType
from coordinator_core.records.primitives import number_reader, number_writer
from schemas.record_layouts import Layout, layouts

_read_int16 = number_reader("int16")
_write_int16 = number_writer("int16")
HEADER = 2  # length in bytes of the type before a key and of the version before a value

LEGACY_OFFSET_COMMIT, OFFSET_COMMIT = 0, 1


class RecordKey(NamedTuple):
    """``name`` is the record type's: OffsetCommit, GroupMetadata, ConsumerGroupMetadata, ..."""

    type: int
    name: str
    fields: dict[str, Any]


class Record(NamedTuple):
    """``version`` and ``value`` are None for a tombstone."""

    type: int
    name: str
    key: dict[str, Any]
    version: int | None
    value: dict[str, Any] | None


# Layouts --------------------------------------------------------------------------------------


def _messages(layout: Layout) -> dict[int, MessageCodec]:
    lowest, highest = layout.valid_versions.lowest, layout.valid_versions.highest
    return {v: compile_message(layout, v) for v in range(lowest, (highest or lowest) + 1)}


def _keys() -> dict[int, MessageCodec]:
    keys = [layout for layout in layouts() if layout.type == "coordinator-key"]
    return {layout.api_key: _messages(layout)[0] for layout in keys if layout.api_key is not None}


def _values() -> dict[tuple[int, int], list[MessageCodec]]:
    """Layouts by type and version: the current layout comes first, then the layouts of early-access
    releases.
    """
    values: dict[tuple[int, int], list[MessageCodec]] = {}
    for layout in layouts():
        if layout.type == "coordinator-value" and layout.api_key is not None:
            for version, message in _messages(layout).items():
                values.setdefault((layout.api_key, version), []).append(message)
    for version in range(1, 5):  # Up to 4.0, a coordinator reads any value with the old key.
        values[LEGACY_OFFSET_COMMIT, version] = values[OFFSET_COMMIT, version]
    return values


_KEYS = _keys()
_VALUES = _values()
_NAMES = {type_: message.name.removesuffix("Key") for type_, message in _KEYS.items()}
_TYPES = {name: type_ for type_, name in _NAMES.items()}
_NEWEST = {type_: max(v for t, v in _VALUES if t == type_) for type_ in _KEYS}


# Decoding -------------------------------------------------------------------------------------


def decode_key(key: bytes | None) -> RecordKey:
    """Raises BadRecord; UnknownKeyType for a type without a layout."""
    type_ = _header("Key", "type", key)
    message = _KEYS.get(type_)
    if message is None:
        raise UnknownKeyType("Key", None, "type", 0, f"no record type {type_} is known")
    return RecordKey(type_, _NAMES[type_], message.read_all(key or b"", HEADER))


def decode(key: bytes | None, value: bytes | None) -> Record:
    """Raises BadRecord; UnknownKeyType or NewerValueVersion for records of a newer broker."""
    type_, name, fields = decode_key(key)
    if value is None:
        return Record(type_, name, fields, None, None)
    version, value_fields = _decode_value(type_, value)
    return Record(type_, name, fields, version, value_fields)


def decode_value(type_or_name: int | str, value: bytes) -> tuple[int, dict[str, Any]]:
    """Returns version and fields of a value under a key of that type; raises as ``decode``."""
    return _decode_value(_type(type_or_name), value)


def _decode_value(type_: int, value: bytes) -> tuple[int, dict[str, Any]]:
    version = _header(f"{_NAMES[type_]}Value", "version", value)
    first, *earlier = _versioned(type_, version)
    try:
        return version, first.read_all(value, HEADER)
    except BadRecord:
        for message in earlier:
            try:
                return version, message.read_all(value, HEADER)
            except BadRecord:
                continue
        raise


def _header(type_name: str, field: str, data: bytes | None) -> int:
    if data is None:
        raise BadRecord(type_name, None, field, 0, "must not be null")
    if len(data) < HEADER:
        raise BadRecord(type_name, None, field, 0, f"needs {HEADER} bytes, {len(data)} left")
    return _read_int16(data, 0)[0]


def _versioned(type_: int, version: int) -> list[MessageCodec]:
    messages = _VALUES.get((type_, version))
    if messages is not None:
        return messages
    newest = _NEWEST[type_]
    reason = f"not among versions 0 to {newest}"
    error = NewerValueVersion if version > newest else BadRecord
    raise error(f"{_NAMES[type_]}Value", version, "version", 0, reason)


# Encoding -------------------------------------------------------------------------------------


def encode_key(type_or_name: int | str, fields: Mapping[str, Any]) -> bytes:
    """Raises UnwritableFields for fields that the key cannot hold, UnknownKeyType."""
    type_ = _type(type_or_name)
    out = bytearray()
    _write_int16(out, type_)
    _KEYS[type_].write(out, fields)
    return bytes(out)


def encode_value(type_or_name: int | str, version: int, fields: Mapping[str, Any]) -> bytes:
    """Writes as Kafka does: no tagged fields that have their default, tags ascending.

    Leaves out fields of other versions; raises UnwritableFields for a field that no version has.
    """
    candidates = _versioned(_type(type_or_name), version)
    message = next((each for each in candidates if each.fits(fields)), candidates[0])
    out = bytearray()
    _write_int16(out, version)
    message.write(out, fields)
    return bytes(out)


def _type(type_or_name: int | str) -> int:
    type_ = _TYPES.get(type_or_name, -1) if isinstance(type_or_name, str) else type_or_name
    if type_ not in _KEYS:
        raise UnknownKeyType("Key", None, "type", 0, f"no record type {type_or_name} is known")
    return type_


# Printing -------------------------------------------------------------------------------------


def jsonable(record: Record) -> dict[str, Any]:
    """Returns ``{"type", "key", "version", "value"}`` with base64 text for bytes."""
    return {
        "type": record.name,
        "key": _plain(record.key),
        "version": record.version,
        "value": _plain(record.value),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, dict):
        return {name: _plain(field) for name, field in value.items()}
    if isinstance(value, list):
        return [_plain(element) for element in value]
    return value
