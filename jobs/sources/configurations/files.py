"""Configuration files of brokers -> the settings of group coordinators in them.

Three formats are distinguished line by line, besides texts that show which versions brokers offer
(`coordinator_core.log_lines.offered_versions`):

    name=value                                        server.properties
    All configs for broker 1 are:                     kafka-configs.sh --describe
      name=value sensitive=false synonyms={...}
    <TAB>name = value                                 KafkaConfig values, in the log of a start
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from coordinator_core.log_lines.offered_versions import MARKS, versions_offered
from coordinator_core.log_lines.version_ranges import text_of
from jobs.console.errors import UsageError
from jobs.lake.files import open_file

FILES_LIKE = "*.properties"
GIVE = (
    "give server.properties, or output of kafka-configs.sh --describe --all, kafka-features.sh "
    "describe or kafka-broker-api-versions.sh"
)
BROKER, GROUP = "broker", "group"
_MOST_BYTES = 1 << 20  # of a line
# Settings of group coordinators, and settings of groups (--entity-type groups).
_OF_BROKERS = re.compile(r"group\.[a-z.]+")
_OF_GROUPS = re.compile(r"(consumer|share|streams)\.[a-z.]+")
IDS = ("node.id", "broker.id")
"""Settings whose name includes a broker's id."""
# Versions of Kafka that are possible with the APIs that the brokers offer, such as 4.1 or 4.2-.
VERSION = "kafka.version"
_LINE = re.compile(r"\s*([A-Za-z][A-Za-z.]*)\s*[=:]\s*(\S*)")
_HEADER = re.compile(r"\s*(?:All|Dynamic) configs for (broker|group) (.+?) are:")


class Setting(NamedTuple):
    """``entity`` is a broker's or group's id; ``is_default``: Kafka's own value."""

    entity_type: str
    entity: str
    name: str
    value: str
    is_default: bool = False


def is_of(entity_type: str, name: str) -> bool:
    """Returns whether a broker or group has a setting of this name that is about groups."""
    return (_OF_BROKERS if entity_type == BROKER else _OF_GROUPS).fullmatch(name) is not None


def settings_in(path: str) -> list[Setting]:
    """The settings in a file, each once: the last value, as Java reads properties.  Raises
    UsageError if it has none.
    """
    about_versions: list[bytes] = []
    with open_file(path) as stream:
        lines = (line[:_MOST_BYTES] for line in stream)
        texts = (_kept(line, about_versions).decode("utf-8", "replace") for line in lines)
        settings = {each[:3]: each for each in _settings(texts, path)}
    versions = versions_offered(b"".join(about_versions))
    if versions is not None:
        settings[BROKER, path, VERSION] = Setting(BROKER, path, VERSION, text_of(versions))
    if not settings:
        raise UsageError(f"--broker-config {path}: no setting of group coordinators; {GIVE}")
    return list(settings.values())


def _kept(line: bytes, about_versions: list[bytes]) -> bytes:
    if any(words in line for words in MARKS):
        about_versions.append(line)
    return line


def _settings(lines: Iterable[str], path: str) -> Iterator[Setting]:
    """A file without the id of its broker has its path as the entity."""
    entity_type, entity, of_file = BROKER, path, list[Setting]()
    for line in lines:
        header = _HEADER.match(line)
        if header is not None:
            entity_type, entity = header[1], header[2]
            continue
        setting = _LINE.match(line)
        if setting is None:
            continue
        name, value = setting.groups()
        if name in IDS and entity_type == BROKER and value.isdigit():
            entity = value
        if is_of(entity_type, name) and value:
            of_file.append(Setting(entity_type, entity, name, value))
    for each in of_file:
        is_unnamed = each.entity_type == BROKER and each.entity == path and entity_type == BROKER
        yield each._replace(entity=entity) if is_unnamed else each
