"""Every name that a module imports from another module of the project is there.

mypy checks the packages only; tools, benchmarks and tests are imported when they run.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

from tools.language.prose import ROOT, python_files

ROOMS = ("jobs", "coordinator_core", "schemas", "tools", "bench", "tests")


@cache
def names_of(module):
    """What the module binds at its top level, and the modules below it; None: no such module."""
    path = ROOT / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.exists() and not path.is_dir():
        return None
    names = {each.stem for each in path.glob("*")} if path.is_dir() else set()
    if file.exists():
        names |= set(bound(ast.parse(file.read_text(encoding="utf-8")).body))
    return names


def bound(statements):
    for node in statements:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Import() | ast.ImportFrom():
                yield from (alias.asname or alias.name for alias in node.names)
            case ast.Assign() | ast.AnnAssign() | ast.For() | ast.With():
                yield from (n.id for n in ast.walk(node) if isinstance(n, ast.Name))
            case ast.If() | ast.Try():
                yield from bound([*node.body, *node.orelse])


def statements_below(node):
    """The nodes below this one; a handler of ImportError imports from an earlier version."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.ExceptHandler):
            yield child
            yield from statements_below(child)


def missing(path):
    for node in statements_below(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        is_own = isinstance(node, ast.ImportFrom) and (node.module or "").startswith(ROOMS)
        if not is_own or node.module.split(".")[0] not in ROOMS:
            continue
        names = names_of(node.module)
        absent = {alias.name for alias in node.names} - (names or set()) - {"__name__"}
        yield from (f"{path}:{node.lineno}: {node.module}.{name}" for name in sorted(absent))


def test_every_imported_name_exists():
    assert [each for path in python_files() for each in missing(path)] == []


@pytest.mark.parametrize("name", ["free_ports", "Broker", "JARS"])
def test_names_of_a_module(name):
    assert name in names_of("tools.kafka_broker")
    assert f"_{name}" not in names_of("tools.kafka_broker")
