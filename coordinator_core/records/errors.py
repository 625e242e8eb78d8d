"""Errors of the record codec: the kind of error and its position."""

from __future__ import annotations

from typing import ClassVar


class BadRecord(ValueError):
    """Bytes that do not match the layout of their type and version.

    ``type_name`` is the layout, such as GroupMetadataValue; ``version``: it is None for a key, or
    if it is unreadable. ``field`` is a path such as ``members[2].client_id``; ``position`` is a
    byte offset from the start of the key, value or blob.
    """

    kind: ClassVar[str] = "unreadable bytes"

    def __init__(
        self, type_name: str, version: int | None, field: str, position: int, reason: str
    ) -> None:
        super().__init__(type_name, version, field, position, reason)
        self.type_name = type_name
        self.version = version
        self.field = field
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        version = "" if self.version is None else f" version {self.version}"
        return f"{self.type_name}{version}: {self.field} at byte {self.position}: {self.reason}"


class UnknownKeyType(BadRecord):
    """A key of a type without a layout: written by a newer broker; loaders skip it (KIP-915)."""

    kind = "unknown key type"


class NewerValueVersion(BadRecord):
    """A value of a known type in a version above the newest known one."""

    kind = "newer value version"


class UnwritableFields(BadRecord):
    """Fields that their layout cannot hold; ``position`` is the position at which they would
    begin.
    """

    kind = "unwritable fields"


class Misfit(Exception):
    """The reason why one field cannot be read or written; each enclosing struct adds its name to
    ``path``.
    """

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(position, reason)
        self.position = position
        self.reason = reason
        self.path = ""

    def inside(self, name: str) -> Misfit:
        """Prepends the struct field or array element (``[3]``) that holds ``path``."""
        separator = "" if self.path == "" or self.path.startswith("[") else "."
        self.path = f"{name}{separator}{self.path}"
        return self
