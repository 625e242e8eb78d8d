"""Service level objectives of groups: the objectives of [slo], and overrides by group id
pattern.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from jobs.configuration.group_patterns import GROUPS, read_patterns, values_of_group
from jobs.console.errors import UsageError
from jobs.console.similar_names import meant


@dataclass(frozen=True, kw_only=True)
class Objectives:
    """Objectives per group and UTC date; None: no objective."""

    served_percent: float | None = field(
        default=None,
        metadata={"meaning": "minimum percentage of partition time that is owned and served"},
    )
    reprocessed_per_day: float | None = field(
        default=None, metadata={"meaning": "maximum number of records handled again per day"}
    )
    catch_up_s: float | None = field(
        default=None,
        metadata={
            "meaning": "maximum seconds from the stop of an owner until its partition has caught up"
        },
    )


NAMES = tuple(each.name for each in fields(Objectives))


@dataclass(frozen=True)
class SloSettings:
    """``groups`` are objectives by group id pattern, see `values_of_group`."""

    objectives: Objectives = Objectives()
    groups: tuple[tuple[str, dict[str, float]], ...] = ()

    @property
    def is_set(self) -> bool:
        """Returns whether any group may have an objective."""
        return bool(self.groups) or self.objectives != Objectives()

    def of_group(self, group_id: str) -> Objectives:
        return values_of_group(self.objectives, self.groups, group_id)


def read_slo(table: Mapping[str, Any], where: str) -> SloSettings:
    """Read [slo] of a TOML file; ``where`` is the beginning of an error message."""
    values = dict(table)
    groups = read_patterns(values.pop(GROUPS, {}), f"{where} [slo", "objectives", _numbers)
    return SloSettings(Objectives(**_numbers(values, f"{where} [slo]")), groups)


def _numbers(table: Mapping[str, Any], where: str) -> dict[str, float]:
    for name, value in table.items():
        if name not in NAMES:
            raise UsageError(f"{where} unknown objective {name!r}; {meant(name, NAMES)}")
        if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
            raise UsageError(f"{where} {name} must be a number above 0, not {value!r}")
        if name == "served_percent" and value >= 100:
            raise UsageError(f"{where} {name} must be below 100: 100 leaves no error budget")
    return {name: float(value) for name, value in table.items()}
