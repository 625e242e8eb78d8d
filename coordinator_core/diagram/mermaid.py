"""A diagram in Mermaid, which code hosts and editors draw."""

from __future__ import annotations

from collections.abc import Iterator

from coordinator_core.diagram.drawing import Arrow, Diagram, Note, Row
from coordinator_core.diagram.words import seconds

# Mermaid ends a statement at these characters, or reads them as markup.
_ESCAPED = {"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", "\n": " "}


def as_mermaid(diagram: Diagram) -> str:
    """The lines of a sequenceDiagram, each with a newline; without the fence."""
    return "".join(line + "\n" for line in _lines(diagram))


def _lines(diagram: Diagram) -> Iterator[str]:
    ids = {name: f"p{number}" for number, name in enumerate(diagram.columns)}
    yield "sequenceDiagram"
    for name, participant in ids.items():
        yield f"    participant {participant} as {_escaped(name)}"
    first_to_last = f"p0,p{len(ids) - 1}"
    for row in diagram.rows:
        yield f"    {_statement(row, ids, first_to_last)}"


def _statement(row: Row, ids: dict[str, str], first_to_last: str) -> str:
    if isinstance(row, Arrow):
        arrow = "-->>" if row.is_answer else "->>"
        return f"{ids[row.source]}{arrow}{ids[row.target]}: {_timed(row)}"
    if isinstance(row, Note):
        return f"Note over {ids[row.over]}: {_timed(row)}"
    return f"Note over {first_to_last}: {seconds(row.ms)} later"


def _timed(row: Arrow | Note) -> str:
    return f"{seconds(row.at_ms)} {_escaped(row.text)}"


def _escaped(text: str) -> str:
    return "".join(_ESCAPED.get(character, character) for character in text)
