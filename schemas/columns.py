"""Columns of a table as values, parsed from ``schemas/tables/*.sql``."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from schemas import table_ddl

_TOKEN = re.compile(r"'(?:[^']|'')*'|\w+|[<>,:]")


class Type(NamedTuple):
    """``name`` is STRING, INT, ..., STRUCT, ARRAY (``of``: element) or MAP (``of``: key, value)."""

    name: str
    of: tuple[Type, ...] = ()
    fields: tuple[Column, ...] = ()

    def __str__(self) -> str:
        inner = [str(type_) for type_ in self.of]
        inner += [f"{field.name}: {field.type}" for field in self.fields]
        return f"{self.name}<{', '.join(inner)}>" if inner else self.name

    def outline(self) -> Type:
        """Returns the type without struct fields, if these have their own comments."""
        if any(field.comment for field in self.fields):
            return Type(self.name)
        return self._replace(of=tuple(type_.outline() for type_ in self.of))


class Column(NamedTuple):
    name: str
    type: Type
    required: bool
    comment: str | None


@cache
def columns(table: str) -> tuple[Column, ...]:
    """Columns in the table's order."""
    tokens = _TOKEN.findall(table_ddl(table))[::-1]
    return _columns(tokens)


def _columns(tokens: list[str]) -> tuple[Column, ...]:
    """Parses columns or fields up to the end or a closing ``>``; the next token is the last."""
    parsed = [_column(tokens)]
    while tokens and tokens[-1] == ",":
        tokens.pop()
        parsed.append(_column(tokens))
    return tuple(parsed)


def _column(tokens: list[str]) -> Column:
    name = tokens.pop()
    _skip(tokens, ":")
    type_ = _type(tokens)
    required = _skip(tokens, "NOT", "NULL")
    comment = tokens.pop()[1:-1].replace("''", "'") if _skip(tokens, "COMMENT") else None
    return Column(name, type_, required, comment)


def _type(tokens: list[str]) -> Type:
    name = tokens.pop()
    if not _skip(tokens, "<"):
        return Type(name)
    if name == "STRUCT":
        type_ = Type(name, fields=_columns(tokens))
    else:
        of = [_type(tokens)]
        while _skip(tokens, ","):
            of.append(_type(tokens))
        type_ = Type(name, of=tuple(of))
    tokens.pop()
    return type_


def _skip(tokens: list[str], *expected: str) -> bool:
    """Removes ``expected`` if these tokens are next; returns whether they were."""
    if tuple(tokens[: -len(expected) - 1 : -1]) != expected:
        return False
    del tokens[-len(expected) :]
    return True
