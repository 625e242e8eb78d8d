"""A diagram as text: lifelines on the left, texts on the right."""

from __future__ import annotations

from collections.abc import Iterator

from coordinator_core.diagram.drawing import Arrow, Diagram, Note, Pause, Row
from coordinator_core.diagram.words import seconds

_WIDEST = 12  # longer names are truncated


def as_text(diagram: Diagram) -> str:
    """The lines of the diagram without trailing blanks, each with a newline."""
    return "".join(line.rstrip() + "\n" for line in _lines(diagram))


def _lines(diagram: Diagram) -> Iterator[str]:
    names = [_cut(name) for name in diagram.columns]
    times = {row.at_ms for row in diagram.rows if not isinstance(row, Pause)}
    margin = max([len(seconds(at_ms)) for at_ms in times], default=0) + 2
    places = _places(names, margin)
    yield diagram.title + (f" ({diagram.settings})" if diagram.settings else "")
    yield ""
    yield _head(names, places)
    shown = ""
    for row in diagram.rows:
        at = "" if isinstance(row, Pause) else seconds(row.at_ms)
        time, shown = ("" if at == shown else at), at
        line, text = _row(row, diagram.columns, places)
        yield f"{time:>{margin - 2}}{line[margin - 2 :]}   {text}"


def _cut(name: str) -> str:
    return name if len(name) <= _WIDEST else name[: _WIDEST - 1] + "…"


def _places(names: list[str], margin: int) -> list[int]:
    """The columns of the lifelines: under the middle of their names."""
    places, at = [], margin
    for name in names:
        width = max(len(name), 3)
        places.append(at + width // 2)
        at += width + 3
    return places


def _head(names: list[str], places: list[int]) -> str:
    line = ""
    for name, place in zip(names, places, strict=True):
        line = line.ljust(place - len(name) // 2) + name
    return line


def _row(row: Row, columns: tuple[str, ...], places: list[int]) -> tuple[str, str]:
    """The lifelines and the text of a row."""
    width = places[-1] + 1
    line = [" "] * width
    for place in places:
        line[place] = "┊" if isinstance(row, Pause) else "│"
    if isinstance(row, Pause):
        return "".join(line), f"… {seconds(row.ms)} …"
    if isinstance(row, Note):
        line[places[columns.index(row.over)]] = "●"
        return "".join(line), row.text
    source, target = (places[columns.index(name)] for name in (row.source, row.target))
    _draw_arrow(line, row, source, target)
    return "".join(line), row.text


def _draw_arrow(line: list[str], row: Arrow, source: int, target: int) -> None:
    first, last = sorted((source, target))
    stroke = "╌" if row.is_answer else "─"
    for place in range(first + 1, last):
        line[place] = "┼" if line[place] == "│" else stroke
    line[target] = "▶" if target > source else "◀"
    line[source] = (
        ("◀" if target > source else "▶") if row.is_both_ways else _START[target > source]
    )


_START = {True: "├", False: "┤"}
