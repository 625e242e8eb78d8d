"""Known problems as data: one TOML file per problem, with the SQL that finds it in a lake.

A problem is a known defect of Kafka or of a client library, a mistake in a configuration or an
operation, or a failure of a coordinator.  The file ``KAFKA-10284.toml`` has the problem of this id;
a ticket of another project is ``librdkafka-4783``.  Keys of a file (``*``: optional):

- ``title``, and ``kind`` (one of KINDS).
- ``about``: what the evidence shows, and the cause.
- ``component`` *: the software whose version decides: ``broker``, or a client library as in
  ``client_events.library``; ``streams`` and ``connect`` have the versions of Java clients.
- ``affected`` *: its versions with the defect, ``2.6.1-2.6, 2.7, 2.8.0``; ``-2.6.0``: all up to
  2.6.0, ``3.6-``: all from 3.6 on.  A component and affected versions need each other.
- ``fixed_in`` *: the versions with the fix, for people; absent if no version has it.
- ``specific`` *: true if the symptom has no other cause, so that it is reported without a known
  version; default false.
- ``confidence``: 0 to 1, if the version is known to be affected; a column ``confidence`` of the
  symptom has priority.
- ``needs``: evidence without which the symptom is not searched: ``client_events`` (the table has
  rows) or ``group_events.event=LOADED|UNLOADED`` (a row has one of the values).
- ``symptom``: SELECT over tables, views and `shared_selects`; one row per finding, with columns of
  FINDING_COLUMNS and any others that the summary names.
- ``contradicted_by`` *: SELECT of rows against it: a row of the symptom is dropped if a row here
  equals it in the columns that both have (for from_time and to_time: if the times overlap).
- ``summary``: one sentence with ``{columns}`` of the symptom; ``{broker}`` is ``broker 1``, or
  ``the broker`` if its id is unknown.
- ``remedy``: what to do, with ``{columns}``, too: sentences on the first line; further lines are
  settings or SQL to paste.
- ``references``: addresses of ticket, pull request or KIP.

``not_searched.json`` has the known defects that are not searched, with the reason of each.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any, NamedTuple

from schemas import table_columns, table_names, view_names, view_sql

KINDS = (
    "broker_bug",
    "client_bug",
    "configuration",
    "operation",
    "coordinator",
    "data",
    "evidence",
)
FINDING_COLUMNS = (
    "group_id",
    "incarnation",
    "member_id",
    "process",
    "broker_id",
    "topic_partition",
    "from_time",
    "to_time",
    "rebalances",
    "confidence",
    "evidence",
)
"""Columns of a symptom that go into the table ``findings``; ``from_time`` is required.  Times are
timestamps or ms; ``evidence`` is a text or a list of texts."""

SUFFIX = ".toml"
_TEXTS = ("kind", "title", "about", "symptom", "summary", "remedy")
_OPTIONAL_TEXTS = ("component", "affected", "fixed_in", "contradicted_by")
_OTHERS = ("specific", "confidence", "needs", "references")
_ID = re.compile(r"[A-Za-z0-9][\w.-]*")
_NEED = re.compile(r"(?P<table>\w+)(?:\.(?P<column>\w+)=(?P<values>\S.*))?")
_SOURCE = re.compile(r"\b(FROM|JOIN)(\s+)(\w+)")
_VERSIONS = re.compile(r"\d+(\.\d+)*|\d+(\.\d+)*-(\d+(\.\d+)*)?|-\d+(\.\d+)*")


class BadProblem(ValueError):
    """A file of a known problem is wrong; the message names file, key and what is expected."""


class Need(NamedTuple):
    """Rows that must exist: any row of the table, or one with one of ``values`` in ``column``."""

    table: str
    column: str | None
    values: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class KnownProblem:
    """The content of a file, or None for an absent key."""

    id: str
    kind: str
    title: str
    about: str
    component: str | None
    affected: str | None
    fixed_in: str | None
    specific: bool
    confidence: float
    needs: tuple[Need, ...]
    symptom: str
    contradicted_by: str | None
    summary: str
    remedy: str
    references: tuple[str, ...]

    @property
    def named_columns(self) -> set[str]:
        """The columns of the symptom that summary and remedy name."""
        texts = (self.summary, self.remedy)
        names = {name for text in texts for _, name, _, _ in Formatter().parse(text) if name}
        return {"broker_id" if name == "broker" else name for name in names}


@cache
def problems() -> tuple[KnownProblem, ...]:
    """All known problems, by id; raises BadProblem."""
    folder = files(__name__)
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(SUFFIX))
    return tuple(
        read_problem(name.removesuffix(SUFFIX), (folder / name).read_text(encoding="utf-8"))
        for name in names
    )


def problem(id: str) -> KnownProblem:
    """The problem of this id; raises KeyError for an unknown id."""
    return {each.id: each for each in problems()}[id]


class NotSearched(NamedTuple):
    """A known defect that is not searched; ``why``: the reason, a sentence."""

    title: str
    component: str
    why: str
    reference: str


def not_searched() -> dict[str, NotSearched]:
    """The content of not_searched.json, by id."""
    text = (files(__name__) / "not_searched.json").read_text(encoding="utf-8")
    return {name: NotSearched(**entry) for name, entry in json.loads(text).items()}


def read_problem(id: str, text: str) -> KnownProblem:
    """The problem in a file's text; raises BadProblem."""
    try:
        return _problem(id, tomllib.loads(text))
    except ValueError as error:  # The TOML parser's errors are ValueErrors, too.
        raise BadProblem(f"schemas/known_problems/{id}.toml: {error}") from None


def _problem(id: str, content: Mapping[str, Any]) -> KnownProblem:
    unknown = sorted(set(content) - {*_TEXTS, *_OPTIONAL_TEXTS, *_OTHERS})
    _require(not unknown, f"unknown key {', '.join(unknown)}")
    texts = {key: _text(content, key, required=True) for key in _TEXTS}
    options = {key: _text(content, key, required=False) for key in _OPTIONAL_TEXTS}
    _require(_ID.fullmatch(id) is not None, "a name has letters, digits, '-', '_' and '.' only")
    _require(texts["kind"] in KINDS, f"kind must be one of {', '.join(KINDS)}")
    affected, component = options["affected"], options["component"]
    _require(bool(affected) == bool(component), "component and affected need each other")
    for part in affected.split(",") if affected else ():
        is_range = _VERSIONS.fullmatch(part.strip()) is not None
        _require(is_range, f"affected: {part.strip()!r} is not 2.5.1, 2.8.1-4.0, 4.2- or -2.0")
    confidence = content.get("confidence")
    is_number = isinstance(confidence, int | float) and 0 < confidence <= 1
    _require(is_number, "confidence must be a number above 0, at most 1")
    specific = content.get("specific", False)
    _require(isinstance(specific, bool), "specific must be true or false")
    read = KnownProblem(
        id=id,
        **texts,
        **options,
        specific=specific,
        confidence=float(content["confidence"]),
        needs=tuple(_need(each) for each in _list(content, "needs")),
        references=tuple(_list(content, "references")),
    )
    for key in ("summary", "remedy"):
        _require_template(key, getattr(read, key))
    return read


def _require(is_right: bool, message: str) -> None:
    if not is_right:
        raise ValueError(message)


def _text(content: Mapping[str, Any], key: str, *, required: bool) -> Any:
    value = content.get(key)
    if value is None and not required:
        return None
    _require(isinstance(value, str) and bool(value.strip()), f"{key} must be a text")
    return str(value).strip()


def _list(content: Mapping[str, Any], key: str) -> list[str]:
    value = content.get(key)
    is_list = isinstance(value, list) and value and all(isinstance(each, str) for each in value)
    _require(bool(is_list), f"{key} must be a list of texts")
    return list(value or ())


def _need(text: str) -> Need:
    match = _NEED.fullmatch(text)
    expected = "needs: expected table or table.column=VALUE|VALUE"
    if match is None:
        raise ValueError(f"{expected}, not {text!r}")
    table, column, values = match["table"], match["column"], match["values"]
    _require(table in table_names(), f"needs: no table {table}")
    _require(column is None or column in table_columns(table), f"needs: {table} has no {column}")
    return Need(table, column, frozenset(values.split("|")) if values else frozenset())


def _require_template(key: str, text: str) -> None:
    try:
        names = [name for _, name, _, _ in Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise ValueError(f"{key}: {error}; write {{{{ for a brace") from None
    wrong = [name for name in names if not name.isidentifier()]
    _require(not wrong, f"{key}: {{{''.join(wrong)}}} is not a column")


@cache
def shared_selects() -> dict[str, str]:
    """SELECTs that several symptoms read like a view, by name: the files NAME.sql here."""
    folder = files(__name__)
    return {
        file.name.removesuffix(".sql"): file.read_text(encoding="utf-8")
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    }


def problem_sql(select: str, source: Callable[[str], str] = str, views: Container[str] = ()) -> str:
    """The SELECT of a symptom, with its views and shared SELECTs in place of their names.

    ``source``: what the SELECT has after FROM or JOIN for a table; default: the table's name.
    ``views``: views that are read like tables.
    """

    def replaced(match: re.Match[str]) -> str:
        keyword, space, name = match.groups()
        if name in table_names() or name in views:
            return f"{keyword}{space}{source(name)}"
        select = view_sql(name) if name in view_names() else shared_selects().get(name)
        return (
            match[0]
            if select is None
            else f"{keyword}{space}({problem_sql(select, source, views)})"
        )

    return _SOURCE.sub(replaced, select)


def tables_of(select: str, views: Container[str] = ()) -> set[str]:
    """The tables that a symptom reads, also by its views; ``views``: see `problem_sql`."""
    tables: set[str] = set()

    def source(name: str) -> str:
        tables.add(name)
        return name

    problem_sql(select, source, views)
    return tables
