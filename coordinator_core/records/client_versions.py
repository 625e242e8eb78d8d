"""Versions of client data: every version of a layout, and which of them reads given bytes.

Clients open their data with a version (int16).  Like Kafka's clients, it reads a version above the
newest known version as the newest known version, because newer versions only add fields at the end.
"""

from __future__ import annotations

from typing import Any

from coordinator_core.records.compiler import MessageCodec, compile_message
from coordinator_core.records.errors import BadRecord, Misfit
from coordinator_core.records.primitives import number_reader
from schemas.record_layouts import layout

_read_int16 = number_reader("int16")


def every_version(name: str) -> list[MessageCodec]:
    """One message per version; the index is the version."""
    versioned = layout(name)
    newest = versioned.valid_versions.highest or 0
    return [compile_message(versioned, version) for version in range(newest + 1)]


def read_known_version(messages: list[MessageCodec], data: bytes) -> tuple[int, dict[str, Any]]:
    """Returns the version in the bytes, and the fields; raises BadRecord, also for a version
    below 0."""
    name = messages[0].name
    try:
        version, position = _read_int16(data, 0)
    except Misfit as misfit:
        raise BadRecord(name, None, "version", 0, misfit.reason) from None
    if version < 0:
        raise BadRecord(name, version, "version", 0, "a version must not be negative")
    fields, _ = messages[min(version, len(messages) - 1)].read(data, position)
    return version, fields
