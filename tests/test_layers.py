"""Which packages each package may import, and which rooms of a package each room.

The docstring of jobs lists its rooms from top to bottom.  Imports within functions and for type
checking count, too; the footers of scripts do not."""

import ast
import sys
from pathlib import Path

import pytest

from tools.structure.rooms import (
    circles,
    computed_rooms,
    file_imports,
    room_arrows,
    upward,
    written_rooms,
)

ROOT = Path(__file__).parent.parent
THIRD_PARTY = {
    "altair", "confluent_kafka", "cramjam", "crc32c", "delta", "deltalake", "duckdb", "fastavro",
    "llvmlite", "numba", "numpy", "opentelemetry", "pandas", "py4j", "pyarrow",
    "pysail", "pyspark", "rich", "typer", "vl_convert",
}  # fmt: skip
MAY_IMPORT = {
    "schemas": {"schemas"},
    "coordinator_core": {"coordinator_core", "schemas", "re2", "xxhash"},
    "jobs": {"jobs", "coordinator_core", "schemas", *THIRD_PARTY},
}
IMPURE = {
    "asyncio",
    "datetime",
    "logging",
    "os",
    "pathlib",
    "random",
    "socket",
    "threading",
    "time",
}


def sources(package):
    return sorted((ROOT / package).rglob("*.py"))


def imported_packages(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_stay_in_their_layer(package):
    foreign = {
        (str(path.relative_to(ROOT)), name)
        for path in sources(package)
        for name in imported_packages(path)
        if name not in MAY_IMPORT[package] and name not in sys.stdlib_module_names
    }
    assert not foreign


def imported_files(path):
    """The files of the core that a file imports anywhere, also within functions or for types."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            file = ROOT / (name.replace(".", "/") + ".py")
            if file.is_file():
                yield file


def test_files_of_the_core_import_each_other_in_one_direction():
    left = {path: {*imported_files(path)} for path in sources("coordinator_core")}
    while leaves := [path for path, imported in left.items() if not imported & left.keys()]:
        for path in leaves:
            del left[path]
    assert sorted(str(path.relative_to(ROOT)) for path in left) == []


def test_only_the_lake_imports_delta_for_spark():
    """So another engine can implement the methods of Lake."""
    importing = {
        path.relative_to(ROOT / "jobs").parts[0]
        for path in sources("jobs")
        if "delta" in imported_packages(path)
    }
    assert importing == {"lake"}


def test_the_core_has_no_clock_no_randomness_and_no_io():
    impure = {
        (str(path.relative_to(ROOT)), name)
        for path in (ROOT / "coordinator_core").rglob("*.py")
        for name in imported_packages(path)
        if name in IMPURE
    }
    assert not impure


@pytest.fixture(scope="module")
def imports():
    return file_imports(ROOT, "jobs")


@pytest.fixture(scope="module")
def rooms():
    return written_rooms(ROOT, "jobs")


def test_every_folder_and_job_is_in_one_room(rooms):
    files = list((ROOT / "jobs").glob("*.py"))
    folders = {path.parent.name for path in (ROOT / "jobs").glob("*/*.py")}

    assert sorted(rooms.of_module) == sorted({file.stem for file in files} - {"__init__"})
    assert sorted(rooms.order) == sorted(folders | set(rooms.of_module.values()))


def test_rooms_import_only_rooms_below_them(imports, rooms):
    arrows = room_arrows(imports, rooms)

    assert {arrow: arrows[arrow] for arrow in upward(arrows, rooms.order)} == {}


def test_rooms_are_few_and_import_few_others(imports, rooms):
    assert len(rooms.order) <= 30
    assert len(room_arrows(imports, rooms)) < 130


@pytest.mark.parametrize("package", ["jobs", "coordinator_core"])
def test_no_files_import_each_other(package):
    assert circles(file_imports(ROOT, package)) == []


def test_packages_of_the_core_have_an_order():
    imports = file_imports(ROOT, "coordinator_core")
    arrows = room_arrows(imports, computed_rooms(imports))
    graph = {room: set() for arrow in arrows for room in arrow}
    for importing, imported in arrows:
        graph[importing].add(imported)

    assert circles(graph) == []
