"""Wordings of the coordinator's log lines as data: text, versions, level and logger.

Placeholders are in braces; `coordinator_core.log_lines.templates` defines how each is read and
printed.  The data cover apache/kafka's tags 0.9.0 to 3.9.0, and its 4.0 to 4.4 lines.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, TypedDict

COORDINATORS = ("scala", "java")


@cache
def _data(name: str) -> Any:
    return json.loads((files(__name__) / f"{name}.json").read_text(encoding="utf-8"))


def wordings(coordinator: str) -> list[dict[str, str]]:
    """Every wording of a coordinator; an entry without `event` is a known line without a meaning of
    its own (OTHER).

    Keys: text, versions (``2.1-4.0``, both ends included; ``4.2-``: to the newest), level, logger
    (class); optional: event, step, protocol, cause.
    """
    return [*_data(coordinator), *_data(f"{coordinator}_other")]


def reasons(source: str) -> list[dict[str, str]]:
    """Reason texts with their cause; ``source``: a coordinator (scala, java) or client."""
    texts: list[dict[str, str]] = _data("reasons")[source]
    return texts


def loggers(coordinator: str) -> list[dict[str, str]]:
    """Full name and prefix of a coordinator's logger classes, by version."""
    classes: list[dict[str, str]] = _data("loggers")[coordinator]
    return classes


def offered_versions() -> dict[str, dict[str, int]]:
    """Highest versions that the brokers of a release offer, oldest release first: by id of an API
    (-1: no longer offered), or by name of a feature; only those that the previous release has not.
    """
    releases: dict[str, dict[str, int]] = _data("offered_versions")
    return releases


@cache
def client_libraries() -> tuple[str, ...]:
    """Names of the files of client libraries in `clients`, sorted."""
    folder = files(__name__) / "clients"
    return tuple(sorted(file.name.removesuffix(".json") for file in folder.iterdir()))


def client_library(name: str) -> LibraryWordings:
    """What the file of this name has."""
    library: LibraryWordings = _data(f"clients/{name}")
    return library


class _Wordings(TypedDict):
    source: str
    marks: list[str]
    wordings: list[dict[str, str]]


class LibraryWordings(_Wordings, total=False):
    """Wordings of a library's consumers.

    ``source``: files of the library's repository, and its versions.  ``marks``: each line of the
    library has at least one of these texts.  ``wordings``: event, text, and the versions if not all
    versions have the text.  In a text with `; `, pairs follow a message, as in
    `synced; group: {group_id}, assigned: {partitions}`.  ``library``: the library's name, if the
    file has another name.  ``others``: texts of messages about other things than membership.
    ``headline_end``: end of a line whose message continues on the next line; the wording has a
    space there.  ``listed``: pattern of the lines after that one that belong to it, too.
    """

    library: str
    others: list[str]
    headline_end: str
    listed: str
