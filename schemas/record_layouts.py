"""Layouts of ``__consumer_offsets`` keys and values, and of the client data inside them.

The files under ``records/`` have the format of Kafka's own message files: ``name``, ``type``,
``apiKey`` (the record type, with which a key begins), ``validVersions``, ``flexibleVersions``
(KIP-482), ``fields`` and ``commonStructs``.  A field without a ``default`` has its type's empty
value as default, also if it is nullable, as in Kafka's own classes.  Regroup adds two properties:
``writtenUntil`` names the last release that wrote a layout which a later release replaced without a
new version number (early-access releases of modern groups), and ``"header": false`` means
that the bytes do not begin with a version.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

FOLDER = files(__package__) / "records"


@dataclass(frozen=True)
class Versions:
    """A range of versions, both ends included; ``highest`` is None if there is no upper end."""

    lowest: int
    highest: int | None

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version and (self.highest is None or version <= self.highest)


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field; ``fields`` are the fields of its struct, or of its elements' struct."""

    name: str
    type: str
    versions: Versions
    nullable_versions: Versions | None
    tagged_versions: Versions | None
    tag: int | None
    default: Any
    has_default: bool
    fields: tuple[Field, ...]
    about: str

    @property
    def is_array(self) -> bool:
        return self.type.startswith("[]")

    @property
    def element_type(self) -> str:
        return self.type.removeprefix("[]")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """One message: ``type`` is coordinator-key, coordinator-value or data."""

    name: str
    type: str
    api_key: int | None
    valid_versions: Versions
    flexible_versions: Versions | None
    fields: tuple[Field, ...]
    written_until: str | None
    header: bool
    about: str


def versions(text: str) -> Versions | None:
    """Parses ``"3"``, ``"0-4"``, ``"2+"`` or ``"none"``."""
    if text == "none":
        return None
    if text.endswith("+"):
        return Versions(int(text[:-1]), None)
    lowest, _, highest = text.partition("-")
    return Versions(int(lowest), int(highest or lowest))


def _some_versions(text: str) -> Versions:
    parsed = versions(text)
    if parsed is None:
        raise ValueError(f"{text!r} names no version")
    return parsed


def _field(node: Mapping[str, Any], structs: Mapping[str, list[Any]], parent: str | None) -> Field:
    """``parent``: versions of the enclosing struct, the default for the field's own versions."""
    own = node.get("versions", node.get("taggedVersions", parent))
    inner = node.get("fields") or structs.get(node["type"].removeprefix("[]"), [])
    return Field(
        name=node["name"],
        type=node["type"],
        versions=_some_versions(own),
        nullable_versions=versions(node.get("nullableVersions", "none")),
        tagged_versions=versions(node.get("taggedVersions", "none")),
        tag=node.get("tag"),
        default=node.get("default"),
        has_default="default" in node,
        fields=tuple(_field(child, structs, own) for child in inner),
        about=node.get("about", ""),
    )


def parse(node: Mapping[str, Any]) -> Layout:
    """Parses a layout from its JSON object; raises KeyError or ValueError for a wrong file."""
    structs = {struct["name"]: struct["fields"] for struct in node.get("commonStructs", [])}
    return Layout(
        name=node["name"],
        type=node["type"],
        api_key=node.get("apiKey"),
        valid_versions=_some_versions(node["validVersions"]),
        flexible_versions=versions(node["flexibleVersions"]),
        fields=tuple(_field(field, structs, None) for field in node["fields"]),
        written_until=node.get("writtenUntil"),
        header=node.get("header", True),
        about=node.get("about", ""),
    )


@cache
def layouts() -> tuple[Layout, ...]:
    """Returns all layouts, current ones before those that were replaced."""
    texts = {f.name: f.read_text("utf-8") for f in FOLDER.iterdir() if f.name.endswith(".json")}
    parsed = [parse(json.loads(texts[name])) for name in sorted(texts)]
    return tuple(sorted(parsed, key=lambda layout: layout.written_until is not None))


def layout(name: str) -> Layout:
    """Returns the current layout of that name."""
    return next(layout for layout in layouts() if layout.name == name)
