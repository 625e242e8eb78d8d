"""Prints the counts of a checkout, each with its rule."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.structure import branches, calls, eras, names, rooms

NEWEST_ERA = "4.4"


def report(root: Path, *, lists: bool) -> Iterator[str]:
    for package in ("jobs", "coordinator_core"):
        yield from _rooms(root, package, lists)
    yield ""
    lines = branches.branch_lines(root)
    files = {path for path, _ in lines}
    yield f"{len(lines)} lines in {len(files)} files compare with a group type (see branches.py)"
    yield from _listed(lists, (f"{path}:{line}" for path, line in lines))
    sql = branches.sql_lines(root)
    yield f"{len(sql)} lines of SQL conditions compare with one"
    yield from _listed(lists, (f"{path}:{line}" for path, line in sql))
    yield ""
    of_eras = eras.files_that_name_eras(root)
    yield f"{len(of_eras)} Python files name an era"
    yield from _listed(lists, map(str, of_eras))
    yield (
        f"{eras.rows_that_end_in(root, NEWEST_ERA)} rows of JSON have a version range that ends in "
        f"{NEWEST_ERA}"
    )
    yield ""
    classes = names.class_names(root)
    yield f"{len(classes)} class names serve {sum(map(len, classes.values()))} classes"
    yield from _listed(lists, (f"{name}: {', '.join(where)}" for name, where in classes.items()))
    for word, (paths, identifiers) in names.word_counts(root).items():
        yield f"{word!r}: {paths} file names, {identifiers} identifiers"
    yield ""
    long = calls.long_calls(root, 7)
    yield f"{len(long)} constructor calls have 7 or more positional arguments"
    yield f"{sum(call.arguments >= 10 for call in long)} of them have 10 or more"
    yield from _listed(lists, (f"{c.path}:{c.line}: {c.name}, {c.arguments}" for c in long))
    types = calls.positional_types(root, 6)
    yield f"{len(types)} dataclasses have more than 6 positional fields"
    yield from _listed(lists, (f"{name}: {count}" for name, count in types.items()))


def _rooms(root: Path, package: str, lists: bool) -> Iterator[str]:
    imports = rooms.file_imports(root, package)
    with_footers = rooms.file_imports(root, package, footers=True)
    if written := rooms.written_rooms(root, package):
        yield f"{package}, rooms as written: {_arrows(imports, written)}"
        yield from _listed(lists, _upward(imports, written))
    computed = rooms.computed_rooms(imports)
    yield f"{package}, a room per folder and module: {_arrows(imports, computed)}"
    computed = rooms.computed_rooms(with_footers)
    yield f"{package}, the same with scripts' footers: {_arrows(with_footers, computed)}"
    for text, graph in (("", imports), (" with scripts' footers", with_footers)):
        circles = rooms.circles(graph)
        sizes = ", ".join(f"{len(circle)} files" for circle in circles) or "none"
        yield f"{package}, circles of files{text}: {sizes}"
        yield from _listed(lists and len(text) == 0, map(", ".join, circles))


def _arrows(imports: rooms.Graph, of: rooms.Rooms) -> str:
    arrows = rooms.room_arrows(imports, of)
    upward = rooms.upward(arrows, of.order)
    return f"{len(of.order)} rooms, {len(arrows)} arrows, {len(upward)} upward"


def _upward(imports: rooms.Graph, of: rooms.Rooms) -> Iterator[str]:
    arrows = rooms.room_arrows(imports, of)
    for arrow in rooms.upward(arrows, of.order):
        yield from (f"{upper} -> {lower}" for upper, lower in arrows[arrow])


def _listed(wanted: bool, lines: Iterable[str]) -> Iterator[str]:
    if wanted:
        yield from (f"    {line}" for line in lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tools.structure", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(), help="a checkout (default: here)")
    parser.add_argument("--list", action="store_true", help="name what is counted")
    arguments = parser.parse_args()
    print(*report(arguments.root, lists=arguments.list), sep="\n")
