"""Wordings of the coordinator's log lines as data: text, versions, level and logger.

Placeholders are in braces; `coordinator_core.log_lines.templates` defines how each is read and
printed.  The data cover apache/kafka's tags 0.9.0 to 3.9.0, and its 4.0 to 4.4 lines.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

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


def client_libraries() -> list[str]:
    """Names of the client libraries whose lines are read."""
    return list(_data("clients"))


def client_marks(library: str) -> list[str]:
    """Texts of which each line of a library has one: what its lines are recognized by."""
    marks: list[str] = _data("clients")[library]["marks"]
    return marks


def client_wordings(library: str) -> list[dict[str, str]]:
    """Wordings of a library's consumers.  Keys: event, text.

    A text with `; ` is a message with pairs: `synced; group: {group_id}, assigned: {partitions}`.
    """
    texts: list[dict[str, str]] = _data("clients")[library]["wordings"]
    return texts
