"""Thresholds of the checks: defaults, values of [alerts], values for groups by pattern."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from jobs.configuration.group_patterns import GROUPS, read_patterns, values_of_group
from jobs.configuration.slo_settings import SloSettings
from jobs.configuration.webhooks import Webhook, read_webhooks
from jobs.console.errors import UsageError
from jobs.console.similar_names import meant
from schemas.known_problems import KINDS

WINDOW = "window"
WEBHOOKS, OUTBOX = "webhooks", "outbox"
FINDING_KINDS = "finding_kinds"
_SPAN = re.compile(r"(\d+)\s*([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """A check raises an alert from this value on; 0 turns the check off."""

    storm_rebalances: int = field(
        default=10, metadata={"meaning": "generations in a row that count as a storm"}
    )
    storm_pause_s: int = field(
        default=60,
        metadata={"meaning": "pause in seconds below which rebalances count as in a row"},
    )
    stuck_s: int = field(
        default=300, metadata={"meaning": "seconds in one phase of a rebalance that count as stuck"}
    )
    unowned_s: int = field(
        default=300,
        metadata={"meaning": "seconds without an owner after which a partition raises an alert"},
    )
    no_members_s: int = field(
        default=60,
        metadata={"meaning": "seconds without members, after all were removed, until an alert"},
    )
    flaps: int = field(
        default=3, metadata={"meaning": "rejoins of a process that count as flapping"}
    )
    moved_nothing: int = field(
        default=5,
        metadata={"meaning": "number of rebalances without a change of owner that raises an alert"},
    )
    rebalances_per_day: int = field(
        default=50,
        metadata={"meaning": "rebalances per group in 24 hours above which an alert is raised"},
    )
    stuck_partition_s: int = field(
        default=60,
        metadata={
            "meaning": "seconds without progress of a partition while its owner consumes others"
        },
    )
    poison_pill_percent: int = field(
        default=60,
        metadata={"meaning": "minimum confidence, in percent, that a record kills each consumer"},
    )
    finding_percent: int = field(
        default=60,
        metadata={"meaning": "minimum confidence of a finding for an alert, in percent"},
    )
    slo_percent: int = field(
        default=100,
        metadata={"meaning": "percent of a day's error budget whose use raises an alert"},
    )


NAMES = tuple(threshold.name for threshold in fields(Thresholds))
_OTHERS = (WINDOW, FINDING_KINDS, OUTBOX, WEBHOOKS, GROUPS)


@dataclass(frozen=True, kw_only=True)
class AlertSettings:
    """``window`` says how far back the checks look.  ``groups`` are thresholds by a pattern of
    group ids (``*``, ``?``), in the file's order; the last matching pattern has priority.
    ``outbox`` is the file with the messages of ``webhooks``; ``outbox`` is None if the outbox is in
    the lake.  ``finding_kinds`` are the kinds of findings that raise alerts.  ``slo`` has the
    objectives of [slo].
    """

    window: str = "1h"
    thresholds: Thresholds = Thresholds()
    groups: tuple[tuple[str, dict[str, int]], ...] = ()
    webhooks: tuple[Webhook, ...] = ()
    outbox: str | None = None
    finding_kinds: tuple[str, ...] = tuple(kind for kind in KINDS if kind != "evidence")
    slo: SloSettings = field(default_factory=SloSettings)

    def of_group(self, group_id: str) -> Thresholds:
        return values_of_group(self.thresholds, self.groups, group_id)


def read_settings(table: Mapping[str, Any], where: str) -> AlertSettings:
    """Read [alerts] of a TOML file; ``where`` is the beginning of an error message."""
    numbers = dict(table)
    window, groups = numbers.pop(WINDOW, AlertSettings.window), numbers.pop(GROUPS, {})
    webhooks = read_webhooks(numbers.pop(WEBHOOKS, {}), where)
    outbox = numbers.pop(OUTBOX, None)
    if outbox is not None and not (isinstance(outbox, str) and outbox):
        raise UsageError(f"{where} [alerts] {OUTBOX} must be a file, not {outbox!r}")
    kinds = numbers.pop(FINDING_KINDS, list(AlertSettings.finding_kinds))
    if not (isinstance(kinds, list) and set(kinds) <= set(KINDS)):
        raise UsageError(f"{where} [alerts] {FINDING_KINDS} must be a list of {', '.join(KINDS)}")
    if not isinstance(window, str):
        raise UsageError(f'{where} [alerts] {WINDOW} must be a text such as "1h", not {window!r}')
    span_s(window, f"{where} [alerts] {WINDOW}")
    return AlertSettings(
        window=window,
        thresholds=Thresholds(**_numbers(numbers, f"{where} [alerts]")),
        groups=read_patterns(groups, f"{where} [alerts", "thresholds", _numbers),
        webhooks=webhooks,
        outbox=outbox,
        finding_kinds=tuple(kinds),
    )


def _numbers(table: Mapping[str, Any], where: str) -> dict[str, int]:
    for name, value in table.items():
        if name not in NAMES:
            raise UsageError(f"{where} unknown setting {name!r}; {meant(name, (*NAMES, *_OTHERS))}")
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise UsageError(
                f"{where} {name} must be a whole number (0 turns it off), not {value!r}"
            )
    return dict(table)


def is_span(text: str) -> bool:
    return _SPAN.fullmatch(text.strip()) is not None


def span_s(text: str, option: str) -> int:
    """Seconds of 90s, 15m, 1h or 7d; raises UsageError for anything else."""
    match = _SPAN.fullmatch(text.strip())
    if match is None or int(match[1]) == 0:
        raise UsageError(f"{option} {text}: not a duration; give 90s, 15m, 1h or 7d")
    return int(match[1]) * _SECONDS[match[2]]
