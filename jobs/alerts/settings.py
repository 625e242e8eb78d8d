"""Thresholds of the checks: defaults, what [alerts] of a configuration file says, by group."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from typing import Any

from jobs.console.errors import UsageError

WINDOW = "window"
GROUPS = "groups"
_SPAN = re.compile(r"(\d+)\s*([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True)
class Thresholds:
    """From when on a check raises an alert; 0 turns the check off."""

    storm_rebalances: int = field(
        default=10, metadata={"meaning": "a storm is so many rebalances or more in a row"}
    )
    storm_pause_s: int = field(
        default=60, metadata={"meaning": "with less than so many seconds between two of them"}
    )
    stuck_s: int = field(
        default=300, metadata={"meaning": "seconds in one phase of a rebalance, or more: stuck"}
    )
    flaps: int = field(
        default=3, metadata={"meaning": "a process that left and came back so often flaps"}
    )
    moved_nothing: int = field(
        default=5, metadata={"meaning": "so many rebalances that changed no owner are too many"}
    )
    rebalances_per_day: int = field(
        default=50, metadata={"meaning": "budget of a group in 24 hours: more are too many"}
    )


NAMES = tuple(threshold.name for threshold in fields(Thresholds))


@dataclass(frozen=True)
class AlertSettings:
    """``window``: how far back the checks look.  ``groups``: thresholds by a pattern of group ids
    (``*``, ``?``), in the file's order; the last that fits a group decides."""

    window: str = "1h"
    thresholds: Thresholds = Thresholds()
    groups: tuple[tuple[str, dict[str, int]], ...] = ()

    def of_group(self, group_id: str) -> Thresholds:
        found = self.thresholds
        for pattern, own in self.groups:
            if fnmatchcase(group_id, pattern):
                found = replace(found, **own)
        return found


def read_settings(table: Mapping[str, Any], where: str) -> AlertSettings:
    """[alerts] of a TOML file; ``where`` begins what is said of something wrong in it."""
    given = dict(table)
    window, groups = given.pop(WINDOW, AlertSettings.window), given.pop(GROUPS, {})
    if not isinstance(window, str):
        raise UsageError(f'{where} [alerts] {WINDOW} is text such as "1h", not {window!r}')
    span_s(window, f"{where} [alerts] {WINDOW}")
    if not isinstance(groups, dict) or not all(isinstance(own, dict) for own in groups.values()):
        raise UsageError(f'{where} [alerts.{GROUPS}."PATTERN"] is a table of thresholds')
    return AlertSettings(
        window,
        Thresholds(**_numbers(given, f"{where} [alerts]")),
        tuple(
            (pattern, _numbers(own, f"{where} [alerts.{GROUPS}.{pattern!r}]"))
            for pattern, own in groups.items()
        ),
    )


def _numbers(table: Mapping[str, Any], where: str) -> dict[str, int]:
    for name, value in table.items():
        if name not in NAMES:
            raise UsageError(f"{where} unknown setting {name!r}; known: {', '.join(NAMES)}")
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise UsageError(f"{where} {name} is a whole number, 0 to turn it off, not {value!r}")
    return dict(table)


def span_s(text: str, option: str) -> int:
    """Seconds of 90s, 15m, 1h or 7d; UsageError for anything else."""
    found = _SPAN.fullmatch(text.strip())
    if found is None or int(found[1]) == 0:
        raise UsageError(f"{option} {text}: not a span of time; write 90s, 15m, 1h or 7d")
    return int(found[1]) * _SECONDS[found[2]]
