"""What a check found, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from jobs.printing import Format, print_rows, printable

COLUMNS = ("check", "state", "found", "remedy")
_INDENT = " " * 10


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"  # a run works, perhaps not as meant
    FAILURE = "failure"  # a run fails


class Finding(NamedTuple):
    check: str
    state: State
    found: str
    remedy: str | None = None


def ok(check: str, found: str, hint: str | None = None) -> Finding:
    return Finding(check, State.OK, found, hint)


def warning(check: str, found: str, remedy: str) -> Finding:
    return Finding(check, State.WARNING, found, remedy)


def failure(check: str, found: str, remedy: str) -> Finding:
    return Finding(check, State.FAILURE, found, remedy)


def show(findings: Iterable[Finding], format: Format) -> int:
    """Print each finding when it is made, or all as rows; 1 if one is a failure, else 0."""
    if format is not Format.TABLE:
        rows = list(findings)
        print_rows(COLUMNS, rows, format)
        return int(any(finding.state is State.FAILURE for finding in rows))
    states: Counter[State] = Counter()
    for finding in findings:
        states[finding.state] += 1
        print("\n".join(lines(finding)), flush=True)
    print(", ".join(f"{state} {states[state]}" for state in State))
    return int(states[State.FAILURE] > 0)


def lines(finding: Finding) -> Iterator[str]:
    """For people: what was found, and below it what to do."""
    check, state, found, remedy = finding
    yield f"{state:<9} {check}: {printable(found)}"
    if remedy:
        yield f"{_INDENT}-> {printable(remedy)}"
