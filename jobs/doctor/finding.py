"""What a check found, and what to do about it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from jobs.console.printing import Format, print_rows, printable

COLUMNS = ("check", "state", "found", "remedy")


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"  # a run works, perhaps not as meant
    FAILURE = "failure"  # a run fails


_STYLES = {State.OK: "green", State.WARNING: "yellow", State.FAILURE: "bold red"}


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
        _print(finding)
    print(", ".join(f"{state} {states[state]}" for state in State))
    return int(states[State.FAILURE] > 0)


def _print(finding: Finding) -> None:
    """What was found, and below it what to do; on a terminal in colour, and folded to its width."""
    check, state, found, remedy = finding
    texts = [f"{check}: {printable(found)}", *([f"-> {printable(remedy)}"] if remedy else [])]
    if not sys.stdout.isatty():
        print(f"{state:<9} " + f"\n{' ' * 10}".join(texts), flush=True)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1))
    table.add_column(width=len(State.FAILURE) + 2)
    for head, text in zip([Text(state, _STYLES[state]), Text()], texts, strict=False):
        table.add_row(head, Text(text))
    Console().print(table)
