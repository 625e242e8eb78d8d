"""The truth of a play as two tables: totals per group, and figures per group and action."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_TOTALS = (
    *("produced", "handled", "distinct", "duplicates", "same_process", "other_process_same_name"),
    *("other_process", "lost", "not_handled_at_end", "handled_while_another_owned"),
)
FIGURES = "duplicates / longest pause s / peak lag / record-seconds"


def tables(truth: Mapping[str, Any]) -> Iterator[str]:
    """Lines of Markdown."""
    groups = truth["groups"]
    yield from _header(["group", *(name.replace("_", " ") for name in _TOTALS)])
    for name, group in groups.items():
        yield _row([name, *(group["total"][figure] for figure in _TOTALS)])
    yield ""
    yield f"Per group and action: {FIGURES}"
    yield ""
    actions = [each["window"] for each in truth["windows"]]
    yield from _header(["group", *actions])
    for name, group in groups.items():
        yield _row([name, *(_figures(group["windows"][action]) for action in actions)])


def _header(names: list[str]) -> Iterator[str]:
    yield _row(names)
    yield "|---" * len(names) + "|"


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _figures(window: Mapping[str, Any]) -> str:
    longest_s = round(window["longest_pause_ms"] / 1000)
    seconds = round(window["record_seconds"])
    return f"{window['duplicates']} / {longest_s} / {window['peak_lag']} / {seconds}"
