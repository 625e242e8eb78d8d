"""An answer as JSON, as text for a terminal, and as Markdown for a ticket.

Text and Markdown have the same sections.  Names of groups and members come from any client of a
cluster, so their control characters are escaped, and in Markdown its own characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import NamedTuple

from coordinator_core.episodes.episode_kind import NOT_INCIDENTS
from coordinator_core.figures import (
    Downtime,
    counted,
    definitions,
    partition_seconds,
    seconds,
    whole_seconds,
)
from jobs.bronze.source_names import LOGS
from jobs.console.printing import json_text, jsonable, printable
from jobs.investigate.answer import Answer, Row
from jobs.investigate.headline import headlines

_EPISODES_SHOWN = 10
_GROUPS_SHOWN = 10
_FILES_SHOWN = 10
_REFERENCES_SHOWN = 2
# figures that are omitted while they are unknown
_ONLY_KNOWN = ("unserved time", "records handled again")
_MARKS = re.compile(r"[\\`*<>|\[\]]|(?<!\w)_|_(?!\w)")


class Item(NamedTuple):
    """``details`` are lines below the text.  ``blocks`` are texts to paste."""

    text: str
    details: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()


class Section(NamedTuple):
    title: str
    items: list[Item]


def as_json(answer: Answer) -> str:
    values = asdict(answer)
    values["missing_evidence"] = [each._asdict() for each in answer.missing_evidence]
    values["headline"] = _headlines(answer)
    return json_text(jsonable(values)) + "\n"


def _headlines(answer: Answer) -> list[str]:
    return headlines(answer.groups, answer.episodes, answer.findings, answer.files)


def _lead(answer: Answer) -> list[str]:
    """The headlines, and the definition of a unit that the answer uses."""
    lines = _headlines(answer)
    items = [item for section in sections(answer) for item in section.items]
    return [*lines, *definitions("\n".join([*lines, *map(str, items)]))]


def as_text(answer: Answer) -> str:
    return "\n".join(_text_lines(answer)) + "\n"


def _text_lines(answer: Answer) -> Iterator[str]:
    yield from map(printable, _lead(answer))
    for section in sections(answer):
        yield ""
        yield section.title
        for item in section.items:
            yield f"- {printable(item.text)}"
            yield from (f"    {printable(detail)}" for detail in item.details)
            for number, block in enumerate(item.blocks):
                if number:
                    yield ""
                yield from (f"        {printable(line)}" for line in block.splitlines())


def as_markdown(answer: Answer) -> str:
    return "\n".join(_markdown_lines(answer)) + "\n"


def _markdown_lines(answer: Answer) -> Iterator[str]:
    for line in _lead(answer):
        yield f"**{_escaped(line)}**"
        yield ""
    for section in sections(answer):
        yield f"## {section.title}"
        yield ""
        for item in section.items:
            yield f"- {_escaped(item.text)}"
            yield from (f"  - {_escaped(detail)}" for detail in item.details)
            for block in item.blocks:
                yield "  ```"
                yield from (f"  {printable(line)}" for line in block.splitlines())
                yield "  ```"
        yield ""


def _escaped(text: str) -> str:
    return _MARKS.sub(lambda mark: f"\\{mark[0]}", printable(text))


def sections(answer: Answer) -> list[Section]:
    """The sections that have items."""
    made = [
        Section("Known problems", [_finding(row) for row in answer.findings]),
        Section("What happened", _episodes(answer.episodes)),
        Section("What it cost", [_cost(row) for row in answer.groups[:_GROUPS_SHOWN]]),
        Section("What to change", [_advice(row) for row in answer.advice]),
        Section(
            "What the evidence cannot show",
            [
                Item(f"{each.evidence} missing; unknown: {each.unknown}", (each.how,))
                for each in answer.missing_evidence
            ],
        ),
        Section("Files", _files(answer.files)),
    ]
    return [section for section in made if section.items]


def _finding(row: Row) -> Item:
    """The first line of the remedy has sentences, further lines are settings or SQL to paste."""
    about = f"{row['finding']} ({row['kind']}, confidence {row['confidence']:.2g})"
    where = f"{row['group_id']}: " if row["group_id"] else ""
    to_do, _, settings = row["remedy"].partition("\n")
    references = row["reference"].splitlines()
    details = (to_do, *(f"see {reference}" for reference in references[:_REFERENCES_SHOWN]))
    text = f"{row['from_time']:%Y-%m-%d %H:%M:%S} {where}{row['summary']}: {about}"
    return Item(text, details, (settings,) if settings else ())


def _episodes(rows: list[Row]) -> list[Item]:
    """The costliest incidents in order of time; all others are counted."""
    incidents = [row for row in rows if row["kind"] not in NOT_INCIDENTS]
    costliest = sorted(incidents, key=lambda row: row["place"])[:_EPISODES_SHOWN]
    items = [_episode(row) for row in sorted(costliest, key=lambda row: row["from_time"])]
    left_out = {
        "cheaper episodes": len(incidents) - len(costliest),
        "starts and ends of groups": len(rows) - len(incidents),
    }
    counts = [f"{what} {number:,}" for what, number in left_out.items() if number]
    if counts:
        items.append(Item(f"only in --format json: {', '.join(counts)}"))
    return items


def _episode(row: Row) -> Item:
    known_by = f"confidence {row['confidence']:.2g}, evidence {row['evidence']}"
    text = f"{row['from_time']:%Y-%m-%d %H:%M:%S} {row['group_id']}: {row['text']}"
    return Item(f"{text} ({row['kind']}, {known_by})")


def _downtime(unowned_ms: int, row: Row) -> Downtime:
    low_ms, high_ms = (row.get(f"unowned_partition_ms_{end}") for end in ("low", "high"))
    return Downtime(
        unowned_ms,
        unowned_ms if low_ms is None else low_ms,
        unowned_ms if high_ms is None else high_ms,
    )


def _cost(row: Row) -> Item:
    if "reason" in row:
        return Item(f"{row['group_id']}: no rebalance ({row['reason']})")
    figures = {
        "rebalances": _said(row["rebalances"], lambda count: counted(count, "rebalance")),
        "time not stable": _said(row["not_stable_ms"], lambda ms: f"{seconds(ms)} not stable"),
        "partition downtime": _said(
            row["unowned_partition_ms"],
            lambda ms: f"{partition_seconds(_downtime(ms, row))} without an owner",
        ),
        "unserved time": _said(
            row["unserved_partition_ms"], lambda ms: f"{whole_seconds(ms)} owned but not served"
        ),
        "records handled again": _said(
            row["records_reprocessed"], lambda count: f"{counted(count, 'record')} handled again"
        ),
        "moved partitions": _said(
            row["partitions_moved"], lambda count: f"{counted(count, 'partition')} moved"
        ),
    }
    texts = [text for text in figures.values() if text]
    if not figures["rebalances"] and row["generations"]:
        texts.insert(0, counted(row["generations"], "generation"))
    unknown = [name for name, text in figures.items() if not text and name not in _ONLY_KNOWN]
    details = (f"unknown: {', '.join(unknown)}",) if unknown else ()
    return Item(f"{row['group_id']}: {', '.join(texts) or 'nothing known'}", details)


def _said(figure: int | None, say: Callable[[int], str]) -> str | None:
    """Returns None for a figure that the evidence does not show."""
    return None if figure is None else say(figure)


def _advice(row: Row) -> Item:
    named = {"better": "makes_better", "worse": "makes_worse", "risk": "risk"}
    details = [f"{name}: {row[column]}" for name, column in named.items() if row[column]]
    texts = [text for text in (row["client_properties"], row["broker_properties"]) if text]
    # An empty line separates lines that belong into different files.
    blocks = [block for text in texts for block in text.split("\n\n")]
    group_id, sentence = row["group_id"], row["sentence"]
    # The reason names the group.
    text = sentence if group_id in sentence else f"{group_id}: {sentence}"
    return Item(text, tuple(details), tuple(blocks))


def _files(rows: list[Row]) -> list[Item]:
    items = [_file(row) for row in rows[:_FILES_SHOWN]]
    if others := rows[_FILES_SHOWN:]:
        inputs, understood = (sum(row[name] for row in others) for name in ("lines", "understood"))
        counts = f"{inputs:,} lines or records, {understood:,} understood"
        items.append(Item(f"{counted(len(others), 'more file')}: {counts}"))
    return items


def _file(row: Row) -> Item:
    parts = [counted(row["lines"], "line" if row["source"] in LOGS else "record")]
    parts.append(f"{row['understood']:,} understood")
    if row["not_understood"]:
        parts.append(f"{row['not_understood']:,} of a coordinator or consumer not understood")
    if row["quarantined"]:
        parts.append(f"{row['quarantined']:,} unreadable")
    return Item(f"{row['file']} ({row['kind']}): {', '.join(parts)}")
