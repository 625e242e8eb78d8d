"""Diagrams of the pages as HTML tables: a page of the manual loads nothing to draw them.

A sequence diagram has a column per participant; the text of a message stands in the last column,
so that a long text wraps on a narrow screen.  `manual.css` draws lifelines and arrows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

# Pattern of a fenced block: its language and lines.
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PARTICIPANT = re.compile(r"participant (p\d+) as (.*)")
_MESSAGE = re.compile(r"(p\d+)(-?)->>(p\d+): (.*)")
_NOTE = re.compile(r"Note over (p\d+)(,p\d+)?: (.*)")
_TRANSITION = re.compile(r"(\S+) --> (\S+?)(?:: (.*))?")
_TIME = re.compile(r"([\d.]+ (?:m?s|min|h)) (.*)")
_ENTITIES = {"#35;": "#", "#59;": ";", "#lt;": "<", "#gt;": ">"}


def without_mermaid(markdown: str) -> str:
    """The page with a table in place of each Mermaid diagram."""
    return FENCED.sub(
        lambda block: _table(block[2].splitlines()) if block[1] == "mermaid" else block[0], markdown
    )


def _table(lines: list[str]) -> str:
    kind, *rest = (line.strip() for line in lines)
    if kind == "sequenceDiagram":
        return "".join(_sequence(rest))
    if kind == "stateDiagram-v2":
        return "".join(_states(rest))
    raise ValueError(f"cannot draw {kind}")


def _sequence(lines: list[str]) -> Iterator[str]:
    names = dict(match.groups() for line in lines if (match := _PARTICIPANT.fullmatch(line)))
    columns = {participant: number for number, participant in enumerate(names)}
    heads = "".join(f'<th scope="col"><span>{_text(name)}</span></th>' for name in names.values())
    yield '<table class="sequence"><thead><tr><th scope="col">time</th>'
    yield f'{heads}<th scope="col">event</th></tr></thead><tbody>'
    before = ""
    for line in lines[len(names) :]:
        if note := _NOTE.fullmatch(line):
            over, to_last, text = note.groups()
            marks = ["pause"] * len(names) if to_last else ["life"] * len(names)
            if not to_last:
                marks[columns[over]] = "life note"
        else:
            message = _MESSAGE.fullmatch(line)
            if message is None:
                raise ValueError(f"no line of a sequence diagram: {line}")
            source, answer, target, text = message.groups()
            marks = _arrow(len(names), columns[source], columns[target], bool(answer))
        timed = None if "pause" in marks else _TIME.fullmatch(text)
        time, text = timed.groups() if timed else ("", text)
        cells = "".join(f'<td class="{mark}"></td>' for mark in marks)
        yield f"<tr><td>{time if time != before else ''}</td>{cells}<td>{_text(text)}</td></tr>"
        before = time
    yield "</tbody></table>"


def _arrow(columns: int, source: int, target: int, is_answer: bool) -> list[str]:
    """The classes of a row's cells; an arrow to its own column is a note."""
    marks = ["life"] * columns
    if source == target:
        marks[source] += " note"
        return marks
    style = " answer" if is_answer else ""
    left, right = sorted((source, target))
    for between in range(left + 1, right):
        marks[between] += f" through{style}"
    marks[left] += f" right{style}"
    marks[right] += f" left{style}"
    marks[target] += " head"
    return marks


def _states(lines: list[str]) -> Iterator[str]:
    yield '<table><thead><tr><th scope="col">from</th><th scope="col">to</th>'
    yield '<th scope="col">when</th></tr></thead><tbody>'
    for line in lines:
        transition = _TRANSITION.fullmatch(line)
        if transition is None:
            raise ValueError(f"no transition of a state diagram: {line}")
        cells = ("" if cell in (None, "[*]") else _text(cell) for cell in transition.groups())
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    yield "</tbody></table>"


def _text(text: str) -> str:
    for entity, character in _ENTITIES.items():
        text = text.replace(entity, character)
    return escape(text, quote=False)
