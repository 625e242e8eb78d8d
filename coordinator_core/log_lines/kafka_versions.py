"""Versions of Kafka, and version ranges as in schemas/log_lines."""

from __future__ import annotations

# KIP-848: the Java coordinator is the default since 4.0; 3.6 to 3.9 had it as a preview
JAVA_COORDINATOR_SINCE = "4.0-"


def holds_in(versions: str, version: str) -> bool:
    """Returns whether ``versions`` contain ``version``.

    ``2.8.1-4.0`` includes both ends, and therefore 4.0.2; ``4.2-`` has no end, ``-2.0`` no
    beginning.
    """
    first, dash, last = versions.partition("-")
    numbers = _numbers(version)
    high = _numbers(last if dash else first)
    return _numbers(first) <= numbers and numbers[: len(high)] <= high


def coordinator_of(version: str) -> str:
    """The coordinator that brokers of the version run by default: scala or java."""
    return "java" if holds_in(JAVA_COORDINATOR_SINCE, version) else "scala"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split("."))) if version else ()
