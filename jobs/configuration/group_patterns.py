"""Values of a configuration for groups by pattern: [SECTION.groups."PATTERN"]."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from jobs.console.errors import UsageError

GROUPS = "groups"
V = TypeVar("V")


def values_of_group(
    values: V, patterns: tuple[tuple[str, dict[str, Any]], ...], group_id: str
) -> V:
    """The dataclass ``values`` with the values of the patterns (``*``, ``?``) that match the group;
    the last matching pattern has priority.
    """
    for pattern, own in patterns:
        if fnmatchcase(group_id, pattern):
            values = replace(values, **own)  # type: ignore[type-var]  # a dataclass
    return values


def read_patterns(
    groups: Any, section: str, content: str, read: Callable[[Mapping[str, Any], str], dict[str, V]]
) -> tuple[tuple[str, dict[str, V]], ...]:
    """The table ``groups`` of a section, in the file's order.

    ``section`` is the beginning of an error message, up to the name of the section.  ``content`` is
    the content of a group's table, such as "thresholds".  ``read(table, where)`` reads the values
    of a pattern.
    """
    if not isinstance(groups, dict) or not all(isinstance(own, dict) for own in groups.values()):
        raise UsageError(f'{section}.{GROUPS}."PATTERN"] must be a table of {content}')
    return tuple(
        (pattern, read(own, f"{section}.{GROUPS}.{pattern!r}]")) for pattern, own in groups.items()
    )
