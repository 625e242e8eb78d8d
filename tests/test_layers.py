"""Which packages a package may import, and which rooms a room of a package may import.

The docstring of jobs lists its rooms from top to bottom.  Imports within functions and for type
checking count, too; the footers of scripts do not."""

import ast
import sys
from pathlib import Path

import pytest

from tools.structure.rooms import (
    Rooms,
    circles,
    file_imports,
    room_arrows,
    upward,
    written_rooms,
)
from tools.structure.sources import parsed

ROOT = Path(__file__).parent.parent
THIRD_PARTY = {
    "anyio", "confluent_kafka", "cramjam", "crc32c", "delta", "deltalake", "duckdb",
    "fastavro", "llvmlite", "numba", "numpy", "opentelemetry", "pandas", "py4j", "pyarrow",
    "pysail", "pyspark", "rich", "starlette", "typer", "uvicorn", "vl_convert",
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
    for node in ast.walk(parsed(path)):
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
    return {package: file_imports(ROOT, package) for package in ("jobs", "coordinator_core")}


@pytest.fixture(scope="module")
def rooms():
    return written_rooms(ROOT, "jobs")


@pytest.fixture(scope="module")
def arrows(imports, rooms):
    return room_arrows(imports["jobs"], rooms)


def test_every_folder_and_job_is_in_one_room(rooms):
    modules = {file.stem for file in (ROOT / "jobs").glob("*.py")} - {"__init__"}
    folders = {file.parent.name for file in (ROOT / "jobs").glob("*/*.py")}

    assert sorted(rooms.of_module) == sorted(modules)
    assert sorted(rooms.order) == sorted(folders | set(rooms.of_module.values()))


def test_rooms_import_only_rooms_below_them(arrows, rooms):
    assert {arrow: arrows[arrow] for arrow in upward(arrows, rooms.order)} == {}


def test_rooms_are_few_and_import_few_others(arrows, rooms):
    assert len(rooms.order) <= 30
    assert len(arrows) < 130


@pytest.mark.parametrize("package", ["jobs", "coordinator_core"])
def test_no_files_import_each_other(package, imports):
    assert circles(imports[package]) == []


def test_no_packages_of_the_core_import_each_other(imports):
    graph = {}
    for importing, imported in room_arrows(imports["coordinator_core"], Rooms([], {})):
        graph.setdefault(importing, set()).add(imported)

    assert circles(graph) == []
