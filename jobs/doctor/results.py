"""The result of a check: its severity, what was observed, and what to do about it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from jobs.console.printing import Format, print_rows, printable
from jobs.console.secrets import without_secrets

COLUMNS = ("check", "state", "found", "remedy")  # columns of --format json and csv


class Severity(StrEnum):
    OK = "ok"
    # state of a check that allows runs, although their results may not be as intended
    WARNING = "warning"
    FAILURE = "failure"  # a run fails


_STYLES = {Severity.OK: "green", Severity.WARNING: "yellow", Severity.FAILURE: "bold red"}


class CheckResult(NamedTuple):
    """The fields are the values of COLUMNS."""

    check: str
    severity: Severity
    text: str
    remedy: str | None = None


def ok(check: str, text: str, hint: str | None = None) -> CheckResult:
    return CheckResult(check, Severity.OK, text, hint)


def warning(check: str, text: str, remedy: str) -> CheckResult:
    return CheckResult(check, Severity.WARNING, text, remedy)


def failure(check: str, text: str, remedy: str) -> CheckResult:
    return CheckResult(check, Severity.FAILURE, text, remedy)


def print_results(results: Iterable[CheckResult], format: Format) -> int:
    """Print each result as soon as it is known, or all as rows; 1 if one is a failure, else 0."""
    results = map(without_secrets_of, results)
    if format is not Format.TABLE:
        rows = list(results)
        print_rows(COLUMNS, rows, format)
        return int(any(result.severity is Severity.FAILURE for result in rows))
    counts: Counter[Severity] = Counter()
    for result in results:
        counts[result.severity] += 1
        _print(result)
    print(", ".join(f"{severity} {counts[severity]}" for severity in Severity))
    return int(counts[Severity.FAILURE] > 0)


def without_secrets_of(result: CheckResult) -> CheckResult:
    """The result without the values of secret settings."""
    remedy = result.remedy and without_secrets(result.remedy)
    return result._replace(text=without_secrets(result.text), remedy=remedy)


def _print(result: CheckResult) -> None:
    """The text, and the remedy below it; on a terminal in color, folded to its width."""
    check, severity, text, remedy = result
    lines = [f"{check}: {printable(text)}", *([f"-> {printable(remedy)}"] if remedy else [])]
    if not sys.stdout.isatty():
        print(f"{severity:<9} " + f"\n{' ' * 10}".join(lines), flush=True)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1))
    table.add_column(width=len(Severity.FAILURE) + 2)
    for head, line in zip([Text(severity, _STYLES[severity]), Text()], lines, strict=False):
        table.add_row(head, Text(line))
    Console().print(table)
