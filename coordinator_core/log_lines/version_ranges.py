"""Sets of versions as ranges: the versions that a defect affects, or that evidence allows."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import NamedTuple


class VersionRange(NamedTuple):
    """Versions from ``low`` to ``high``, both included; tuples of the numbers of a version.

    ``high`` ends with infinity, because 4.0 as an end includes 4.0.2.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]


Ranges = tuple[VersionRange, ...]
ALL_VERSIONS: Ranges = (VersionRange((), (inf,)),)


def ranges_of(text: str) -> Ranges:
    """Parse ``2.5.1``, ``2.8.1-4.0``, ``4.2-``, ``-2.0``, or several separated by commas.

    Raises ValueError for any other text.
    """
    return _merged(_span(part.strip()) for part in text.split(","))


def _merged(spans: Iterable[VersionRange]) -> Ranges:
    merged: list[VersionRange] = []
    for span in sorted(spans):
        if merged and span.low <= merged[-1].high:
            merged[-1] = VersionRange(merged[-1].low, max(merged[-1].high, span.high))
        else:
            merged.append(span)
    return tuple(merged)


def _span(text: str) -> VersionRange:
    first, dash, last = text.partition("-")
    if not first and not last:
        raise ValueError(f"{text!r}: expected versions, e.g. 2.5.1, 2.8.1-4.0, 4.2- or -2.0")
    high = _numbers(last if dash else first)
    return VersionRange(_numbers(first), (*high, inf))


def _numbers(version: str) -> tuple[float, ...]:
    return tuple(int(number) for number in version.split(".")) if version else ()


def common(one: Ranges, other: Ranges) -> Ranges:
    """The versions in both sets."""
    both = (VersionRange(max(a.low, b.low), min(a.high, b.high)) for a in one for b in other)
    return _merged(span for span in both if span.low <= span.high)


def common_to_all(of: Iterable[Ranges]) -> Ranges:
    result = ALL_VERSIONS
    for ranges in of:
        result = common(result, ranges)
    return result


def consistent(of: Iterable[Ranges]) -> Ranges:
    """The versions that occur in all ranges.  If no version is in all of them, as after an upgrade:
    the versions that are in as many of them as possible.
    """
    limits = list(dict.fromkeys(of))
    if common_versions := common_to_all(limits):
        return common_versions
    # A version range begins where one of these ranges begins.
    beginnings = {span.low for ranges in limits for span in ranges}
    allowing = {
        frozenset(each for each in limits if common(each, (VersionRange(low, low),)))
        for low in beginnings
    }
    largest = [each for each in allowing if not any(each < other for other in allowing)]
    return united(map(common_to_all, largest))


def united(of: Iterable[Ranges]) -> Ranges:
    """The versions in any of the sets."""
    return _merged(span for ranges in of for span in ranges)


def are_within(inner: Ranges, outer: Ranges) -> bool:
    """Returns whether each range of ``inner`` is within one range of ``outer``."""
    return all(any(o.low <= i.low and i.high <= o.high for o in outer) for i in inner)


def text_of(ranges: Ranges) -> str:
    """The text that `ranges_of` reads; empty for all versions."""
    return ", ".join(map(_text, ranges))


def _text(span: VersionRange) -> str:
    low, high = (".".join(str(n) for n in end if n != inf) for end in span)
    return low if low == high else f"{low}-{high}"


def words_of(ranges: Ranges) -> str:
    """For a sentence: ``up to 2.6.0``, ``3.6 and later``, ``2.1 to 2.5 or 2.8.1``."""
    return " or ".join(map(_words, ranges))


def _words(span: VersionRange) -> str:
    low, dash, high = _text(span).partition("-")
    if not dash:
        return low or "any version"
    if not low:
        return f"up to {high}"
    if high and low.startswith(f"{high}."):
        return f"{high} from {low} on"
    return f"{low} to {high}" if high else f"{low} and later"
