"""Figures in sentences: counts, times, partition downtime.

Apart from the packages that compute them, so that a command that only prints need not import these.
"""

from __future__ import annotations

from typing import NamedTuple

# A sentence omits ranges of partition downtime that are narrower than this.
_LEAST_RANGE_MS = 500
# Larger differences of clocks are reported.
SKEW_MS = 1000


class Downtime(NamedTuple):
    """Partition downtime in partition-ms; ``low_ms``, ``high_ms``: its range by the evidence."""

    unowned_ms: int = 0
    low_ms: int = 0
    high_ms: int = 0

    def plus(self, other: Downtime) -> Downtime:
        return Downtime(*map(sum, zip(self, other, strict=True)))


def counted(number: int, noun: str) -> str:
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def seconds(ms: int) -> str:
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:.1f} s"


def whole_seconds(ms: int) -> str:
    return f"{ms / 1000:,.0f}" if ms >= 10_000 else f"{ms / 1000:.1f}"


PARTITION_SECONDS = (
    "partition-seconds: number of partitions without an owner or not served, multiplied by the"
    " seconds"
)


def definitions(text: str) -> list[str]:
    """The definition of partition-seconds, if a text has the word."""
    return [PARTITION_SECONDS] if "partition-seconds" in text else []


def partition_seconds(downtime: Downtime) -> str:
    """The downtime and, unless it is narrow, its range."""
    text = f"{whole_seconds(downtime.unowned_ms)} partition-seconds"
    if downtime.high_ms - downtime.low_ms < _LEAST_RANGE_MS:
        return text
    low = whole_seconds(downtime.low_ms) if downtime.low_ms else "0"
    return f"{text} ({low} to {whole_seconds(downtime.high_ms)})"


def of_alike(kind: str, pattern: str, episodes: int, groups: int, cost_ms: int | None) -> str:
    """A sentence for similar episodes.

    ``pattern`` is the pattern of the groups' names, or the only name.
    """
    where = f"{counted(groups, 'group')} {pattern}" if groups > 1 else pattern
    text = f"{kind.replace('_', ' ')}: {counted(episodes, 'episode')} in {where}"
    if not cost_ms:
        return text
    return f"{text}, {whole_seconds(cost_ms)} partition-seconds without an owner or not served"
