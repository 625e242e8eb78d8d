"""The comparison as an SVG with one row per measure and one column per change.

Written without a plotting library, as the colors follow the reader's ``prefers-color-scheme``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log10
from typing import NamedTuple

from bench.herd.measure import CHANGES, Outcome

PANEL_WIDTH, PANEL_HEIGHT = 205, 140
LEFT, TOP, GAP_X, GAP_Y, BOTTOM = 80, 86, 22, 46, 48
STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 }
  .head { font-weight: 600 }
  .small { font-size: 11px; fill: #57606a }
  .grid { stroke: #d0d7de; stroke-width: 1 }
  .line { fill: none; stroke-width: 2.2 }
  .ZooKeeper { stroke: #cf222e } .dot.ZooKeeper { fill: #cf222e }
  .first { stroke: #8250df } .dot.first { fill: #8250df }
  .last { stroke: #0969da; stroke-dasharray: 6 4 } .dot.last { fill: #0969da }
  .dot { stroke: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .small { fill: #9198a1 }
    .grid { stroke: #3d444d }
    .ZooKeeper { stroke: #ff7b72 } .dot.ZooKeeper { fill: #ff7b72 }
    .first { stroke: #d2a8ff } .dot.first { fill: #d2a8ff }
    .last { stroke: #79c0ff } .dot.last { fill: #79c0ff }
    .dot { stroke: none }
  }
"""
LINES = {  # system: class, label
    "ZooKeeper": ("ZooKeeper", "ZooKeeper (0.8.2)"),
    "0.9": ("first", "coordinator of 0.9"),
    "4.1": ("last", "coordinator of 4.1"),
}
HEADS = {"form": "all start", "join": "one joins", "leave": "one leaves", "crash": "one crashes"}
ROWS = {
    "notifications": "notifications",
    "requests": "requests",
    "settled_ms": "ms until all consume",
    "unowned_ms": "partition-ms unowned",
}


class Axis(NamedTuple):
    """A logarithmic axis, drawn from ``begin`` to ``end`` (in pixels)."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        share = log10(max(value, self.low) / self.low) / log10(self.high / self.low)
        return self.begin + share * (self.end - self.begin)

    def decades(self) -> list[int]:
        first, last = round(log10(self.low)), round(log10(self.high))
        return [10**power for power in range(first, last + 1)]


def svg(
    outcomes: Mapping[tuple[str, int, str], Outcome], sizes: Sequence[int], partitions: int
) -> str:
    width = LEFT + len(CHANGES) * (PANEL_WIDTH + GAP_X)
    height = TOP + len(ROWS) * (PANEL_HEIGHT + GAP_Y) + BOTTOM - GAP_Y
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" role="img">',
        f"<style>{STYLE}</style>",
        _text(
            LEFT,
            22,
            f"Cost of one change by group size ({partitions} partitions)",
            "title",
        ),
        *_legend(),
    ]
    for row, metric in enumerate(ROWS):
        top = TOP + row * (PANEL_HEIGHT + GAP_Y)
        y = _axis_of(outcomes, metric, top)
        parts.append(_text(8, top - 10, ROWS[metric], "head"))
        for column, change in enumerate(CHANGES):
            left = LEFT + column * (PANEL_WIDTH + GAP_X)
            if row == 0:
                parts.append(
                    _text(left + PANEL_WIDTH / 2, top - 10, HEADS[change], "head", "middle")
                )
            x = Axis(sizes[0], sizes[-1], left + 8, left + PANEL_WIDTH - 8)
            parts += _grid(x, y, left, sizes, with_labels=column == 0)
            for system, (name, _) in LINES.items():
                values = [
                    (x.at(size), y.at(value))
                    for size in sizes
                    if (value := getattr(outcomes[change, size, system], metric))
                ]
                parts += _curve(values, name)
    parts.append(
        _text(
            width / 2,
            height - 8,
            "members (both axes logarithmic; 0 is not drawn)",
            "small",
            "middle",
        )
    )
    return "\n".join([*parts, "</svg>", ""])


def _axis_of(outcomes: Mapping[tuple[str, int, str], Outcome], metric: str, top: int) -> Axis:
    """The y axis of a row, in whole decades."""
    values = [
        value
        for (_, _, system), outcome in outcomes.items()
        if system in LINES and (value := getattr(outcome, metric))
    ]
    low, high = 1, 10
    while low * 10 <= min(values):
        low *= 10
    while high < max(values):
        high *= 10
    return Axis(low, high, top + PANEL_HEIGHT, top)


def _legend() -> Iterator[str]:
    for index, (name, label) in enumerate(LINES.values()):
        x = LEFT + index * 190
        yield f'<line class="line {name}" x1="{x}" y1="42" x2="{x + 30}" y2="42"/>'
        yield _text(x + 38, 46, label)


def _grid(x: Axis, y: Axis, left: float, sizes: Sequence[int], with_labels: bool) -> Iterator[str]:
    for value in y.decades():
        at = y.at(value)
        ends = f'x1="{left}" y1="{at:.1f}" x2="{left + PANEL_WIDTH}" y2="{at:.1f}"'
        yield f'<line class="grid" {ends}/>'
        if with_labels:
            yield _text(left - 8, at + 4, f"{value:,}", "small", "end")
    for size in sizes:
        yield _text(x.at(size), y.begin + 16, str(size), "small", "middle")


def _curve(points: Sequence[tuple[float, float]], name: str) -> Iterator[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    yield f'<polyline class="line {name}" points="{path}"/>'
    for x, y in points:
        yield f'<circle class="dot {name}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'


def _text(x: float, y: float, text: str, name: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{name}" text-anchor="{anchor}">{text}</text>'
