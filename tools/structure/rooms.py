"""Which file imports which, and the rooms of a package.

A room is a folder of the package, with the modules beside it that belong to it.  The docstring of
the package lists its rooms from top to bottom, in lines ``    NAME   text``; a line that begins
with ``jobs:`` names modules of the room above it.  A room may import the rooms below it.

Every import counts, also those within functions and for type checking; the footers of scripts
(``if __name__ == "__main__"``) count on request.  A package without such a list has one room per
folder and module; their order is computed so that few imports go upward.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tools.structure.sources import Source, nodes, sources

Graph = dict[str, set[str]]  # importing -> imported
_ROOM = re.compile(r"    (\w+)  +\S")
_MODULES = re.compile(r"    +jobs: ([\w, ]+)")


class Rooms(NamedTuple):
    """``order``: the rooms from top to bottom.  ``of_module``: the room of a module that stands
    beside the folders."""

    order: list[str]
    of_module: dict[str, str]

    def of(self, module: str) -> str | None:
        """The room of a module by its full name, or None for the package itself."""
        _, _, inner = module.partition(".")
        name = inner.split(".")[0]
        return self.of_module.get(name, name) or None


def file_imports(root: Path, package: str, *, footers: bool = False) -> Graph:
    """The modules of a package that each of its modules imports."""
    files = {source.module: source for source in sources(root, package)}
    return {
        module: {name for name in _imported(source, files, footers) if name != module}
        for module, source in files.items()
    }


def _imported(source: Source, files: Mapping[str, Source], footers: bool) -> Iterator[str]:
    for node in ast.walk(source.tree) if footers else nodes(source.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names = (f"{node.module}.{alias.name}", node.module)
                yield from [name for name in names if name in files][:1]


def written_rooms(root: Path, package: str) -> Rooms | None:
    """The rooms that the docstring of the package lists, or None without such a list."""
    docstring = ast.get_docstring(Source(root, Path(package, "__init__.py")).tree, clean=False)
    _, heading, listed = (docstring or "").partition("\nRooms, from top to bottom")
    rooms = Rooms([], {})
    for line in listed.splitlines():
        if modules := _MODULES.match(line):
            for name in modules[1].split(", "):
                if name in rooms.of_module:
                    raise ValueError(f"{package}: {name} is in two rooms")
                rooms.of_module[name] = rooms.order[-1]
        elif room := _ROOM.match(line):
            rooms.order.append(room[1])
    return rooms if heading else None


def computed_rooms(imports: Graph) -> Rooms:
    """A room per folder and module, in an order in which few arrows go upward."""
    arrows = room_arrows(imports, Rooms([], {}))
    return Rooms(_order({room for arrow in arrows for room in arrow}, set(arrows)), {})


def _order(rooms: set[str], arrows: set[tuple[str, str]]) -> list[str]:
    """Rooms from top to bottom: rooms that no room imports come first, rooms without imports last.

    Else the room with the largest surplus of imports over being imported comes first.
    """
    top: list[str] = []
    bottom: list[str] = []
    while rooms:
        left = [(a, b) for a, b in arrows if a in rooms and b in rooms]
        importing, imported = [a for a, _ in left], [b for _, b in left]
        if free := sorted(rooms - set(importing)):
            bottom = [*free, *bottom]
        elif free := sorted(rooms - set(imported)):
            top += free
        else:
            free = [max(sorted(rooms), key=lambda r: importing.count(r) - imported.count(r))]
            top += free
        rooms = rooms - set(free)
    return top + bottom


def room_arrows(imports: Graph, rooms: Rooms) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """The imports from one room to another, by both rooms."""
    arrows: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for module, imported in sorted(imports.items()):
        for other in sorted(imported):
            upper, lower = rooms.of(module), rooms.of(other)
            if upper and lower and upper != lower:
                arrows[upper, lower].append((module, other))
    return dict(arrows)


def upward(arrows: Iterable[tuple[str, str]], order: list[str]) -> list[tuple[str, str]]:
    place = {room: number for number, room in enumerate(order)}
    return [(upper, lower) for upper, lower in arrows if place[upper] > place[lower]]


def circles(graph: Graph) -> list[list[str]]:
    """The largest sets of modules that reach each other, each sorted."""
    reached = {module: _reached(graph, module) for module in graph}
    sets = {
        frozenset(other for other in others if module in reached[other])
        for module, others in reached.items()
        if module in others
    }
    return sorted(map(sorted, sets))


def _reached(graph: Graph, module: str) -> set[str]:
    """What a module imports, directly or through others; itself, if it is in a circle."""
    reached: set[str] = set()
    waiting = [module]
    while waiting:
        new = graph.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached
