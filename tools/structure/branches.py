"""Lines that compare with a type of group, outside the folders of that type.

A line counts once if it begins a comparison (``==``, ``!=``, ``in``, ``not in``, ``is``, ``is
not``) or a ``case`` with a group type on either side, alone or in a tuple, list or set.  A group
type is one of the strings "classic", "consumer", "share" and "streams", a name CLASSIC, CONSUMER,
SHARE or STREAMS, or such an attribute of GroupType.  A call ``isinstance`` with a class
ClassicGroup, ConsumerGroup, ShareGroup or StreamsGroup counts, too.

These do not count: comparisons with a protocol type, as "consumer" is also the protocol type of
classic groups; and with the step of a log line, which has its own word "classic".

A comparison within the text of an SQL condition (``group_type <> 'classic'``) is counted apart.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.structure.sources import Source, sources

TYPES = ("classic", "consumer", "share", "streams")
_CONSTANTS = {group_type.upper() for group_type in TYPES}
_OTHER = re.compile(r"protocol_type|PROTOCOL_TYPE|\bstep\b")
_SQL = re.compile(r"group_type\b[^=<>!]{0,12}(?:=|<>|!=|\bIN\b)[^=]*'\w+'")
_CLASSES = {f"{group_type.title()}Group" for group_type in TYPES}


def branch_lines(root: Path) -> list[tuple[Path, int]]:
    return [
        (source.path, line)
        for source in _outside(root)
        for line in sorted({node.lineno for node in ast.walk(source.tree) if _is_branch(node)})
    ]


def sql_lines(root: Path) -> list[tuple[Path, int]]:
    """Lines with a comparison in the text of an SQL condition."""
    return [
        (source.path, number)
        for source in _outside(root)
        for number, line in enumerate((root / source.path).read_text("utf-8").splitlines(), 1)
        if _SQL.search(line)
    ]


def _outside(root: Path) -> Iterator[Source]:
    for source in sources(root, "coordinator_core", "jobs"):
        if not {*source.path.parts} & {*TYPES}:
            yield source


def _is_branch(node: ast.AST) -> bool:
    match node:
        case ast.Compare():
            sides = [node.left, *node.comparators]
            other = any(_OTHER.search(ast.unparse(side)) for side in sides)
            return any(map(_is_type, sides)) and not other
        case ast.MatchValue():
            return _is_type(node.value)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, classes]):
            return any(_last_name(each) in _CLASSES for each in _elements(classes))
    return False


def _is_type(node: ast.expr) -> bool:
    return any(map(_is_one_type, _elements(node)))


def _is_one_type(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return node.value in TYPES
        case ast.Attribute():
            return node.attr in _CONSTANTS and _last_name(node.value) == "GroupType"
    return _last_name(node) in _CONSTANTS


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]


def _last_name(node: ast.AST) -> str | None:
    return getattr(node, "attr", None) or getattr(node, "id", None)
