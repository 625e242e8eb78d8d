"""The widening that makes ranges hold the truth, and how often ranges hold it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, floor
from statistics import median
from typing import NamedTuple

from coordinator_core.whatif.calibration import LEAST_SIZES, OTHER
from tools.coverage.rows import Row

# The share of true values that a range must contain.
LEVEL = 0.9
# Errors of fewer scripts than this say little about another script.
MIN_SCRIPTS = 3
Shares = Mapping[tuple[str, str, str], float]


def size(row: Row) -> int:
    return max(row.median, LEAST_SIZES[row.figure])


def error(row: Row) -> float:
    """How far the truth is outside of the range over the seeds, as a share of the size."""
    return max(row.least - row.true, row.true - row.most) / size(row)


def shares(rows: Sequence[Row]) -> Shares:
    """By command, setting and figure: the smallest share that holds the level of such truths."""
    of_setting: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    of_all: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        of_setting[row.command, row.setting, row.figure].append(row)
        of_all[row.command, row.figure].append(row)
    table = {key: _share(own) for key, own in of_setting.items() if _scripts(own) >= MIN_SCRIPTS}
    others = {(command, OTHER, figure): _share(own) for (command, figure), own in of_all.items()}
    return dict(sorted((table | others).items()))


def _scripts(rows: Iterable[Row]) -> int:
    return len({row.script for row in rows})


def _share(rows: Sequence[Row]) -> float:
    """Rounded up to hundredths."""
    errors = sorted(map(error, rows))
    place = min(ceil((len(errors) + 1) * LEVEL), len(errors))
    return max(ceil(100 * errors[place - 1]), 0) / 100


def nested(table: Shares) -> dict[str, dict[str, dict[str, float]]]:
    """As prediction_ranges.json has it."""
    result: dict[str, dict[str, dict[str, float]]] = {}
    for (command, setting, figure), share in table.items():
        result.setdefault(command, {}).setdefault(setting, {})[figure] = share
    return result


class Judged(NamedTuple):
    """``before``: the range over the seeds holds the truth; ``after``: the range that is widened by
    the other scripts holds it.  ``width``: of the widened range, as a share of the size.
    """

    row: Row
    before: bool
    after: bool
    width: float


def judged(rows: Sequence[Row]) -> Iterator[Judged]:
    """Each script by the widening of the others."""
    for script in sorted({row.script for row in rows}):
        table = shares([row for row in rows if row.script != script])
        for row in rows:
            if row.script == script:
                other = table.get((row.command, OTHER, row.figure), 0.0)
                share = table.get((row.command, row.setting, row.figure), other)
                yield _judged(row, share * size(row))


def _judged(row: Row, width: float) -> Judged:
    least, most = max(0, floor(row.least - width)), ceil(row.most + width)
    return Judged(
        row,
        row.least <= row.true <= row.most,
        least <= row.true <= most,
        (most - least) / size(row),
    )


def table(each: Sequence[Judged]) -> Iterator[str]:
    """Lines of a Markdown table: per command and setting, per figure, and all."""
    yield "| command | setting or figure | figures | within the seeds | within the range | width |"
    yield "|---|---|---:|---:|---:|---:|"
    for command in sorted({one.row.command for one in each}, reverse=True):
        for name in ("setting", "figure"):
            groups: dict[str, list[Judged]] = defaultdict(list)
            for one in each:
                if one.row.command == command:
                    groups[getattr(one.row, name)].append(one)
            for value, own in sorted(groups.items()):
                yield _line(command, value, own)
        yield _line(command, "all", [one for one in each if one.row.command == command])


def _line(command: str, value: str, own: Sequence[Judged]) -> str:
    before, after = (sum(getattr(one, name) for one in own) for name in ("before", "after"))
    texts = [f"{count} ({count / len(own):.0%})" for count in (before, after)]
    width = f"{median(one.width for one in own):.0%}"
    return f"| {command} | {value} | {len(own)} | {' | '.join(texts)} | {width} |"
