"""Wordings of the coordinator's log lines, as data: text, versions, level and logger.

A text's placeholders stand in braces; `coordinator_core.log_lines.templates` says how each is read
and printed.  Facts are those of apache/kafka's tags 0.9.0 to 3.9.0 and its 4.0 to 4.4 lines.
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
    """Every wording of a coordinator; `event` is missing where a line is merely known (OTHER).

    Keys: text, versions (``2.1-4.0``, both ends included), level, logger (class), and where they
    hold event, step, protocol, cause.
    """
    return [*_data(coordinator), *_data(f"{coordinator}_other")]


def reasons(who: str) -> list[dict[str, str]]:
    """Reason texts and their cause: of ``scala`` and ``java`` coordinators, and of a ``client``."""
    found: list[dict[str, str]] = _data("reasons")[who]
    return found


def loggers(coordinator: str) -> list[dict[str, str]]:
    """Full name and prefix of a coordinator's logger classes, by version."""
    found: list[dict[str, str]] = _data("loggers")[coordinator]
    return found


def eras() -> dict[str, dict[str, str]]:
    """Version and coordinator that stand for each era."""
    found: dict[str, dict[str, str]] = _data("eras")
    return found
