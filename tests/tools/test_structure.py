"""tools/structure on a small package: every count has a literal value."""

from pathlib import Path

import pytest

from tools.structure import branches, calls, eras, names
from tools.structure.rooms import (
    circles,
    computed_rooms,
    file_imports,
    room_arrows,
    upward,
    written_rooms,
)

FILES = {
    "jobs/__init__.py": '''
        """Jobs.

        Rooms, from top to bottom:

            top      what answers
                     jobs: answer, other
            middle   between
            bottom   settings

            not_a_room
        """
        ''',
    "jobs/answer.py": """
        from jobs.middle import one

        def run():
            from jobs.bottom.settings import Settings

        if __name__ == "__main__":
            from jobs.other import main
        """,
    "jobs/other.py": "from jobs.answer import run",
    "jobs/top/__init__.py": "",
    "jobs/top/page.py": "import jobs.middle.two",
    "jobs/middle/__init__.py": "",
    "jobs/middle/one.py": "from jobs.middle.two import Two",
    "jobs/middle/two.py": """
        from jobs.middle import one
        from jobs.bottom import settings
        """,
    "jobs/bottom/__init__.py": "",
    "jobs/bottom/settings.py": """
        from typing import TYPE_CHECKING

        if TYPE_CHECKING:
            from jobs.answer import run
        """,
    "coordinator_core/consumer/own.py": "is_own = group_type == 'consumer'",
    "coordinator_core/branches.py": """
        from dataclasses import KW_ONLY, dataclass, field
        from typing import NamedTuple

        if group.type in ("share", "streams") or group.type == CLASSIC:
            pass
        if protocol_type == "consumer" or line.step == "classic" or kind is Kind.CLASSIC:
            pass
        if isinstance(group, ShareGroup):
            pass
        match group_type:
            case "consumer":
                pass
            case "another":
                pass
        where = "group_type <> 'classic'"
        modern_groups = is_modern = 1
        is_new_type = 2

        class Point(NamedTuple):
            a: int
            b: int
            c: int

        @dataclass
        class Long:
            a: int
            b: int
            _: KW_ONLY
            c: int

        @dataclass(frozen=True, kw_only=True)
        class Keyword:
            a: int
            b: int
            c: int

        @dataclass(frozen=True)
        class Counts:
            a: int
            b: int = field(default=0, kw_only=True)
            c: int = field(default=0, init=False)
            d: int = field(default=0)
            e: ClassVar[int] = 0

        Point(1, 2, 3)
        Long(1, 2, c=3)
        Long(1, *rest, 3)
        unknown(1, 2, 3, 4)
        """,
    "coordinator_core/eras.py": "ERA_4_1 = Era('4.1')",
    "coordinator_core/versions.py": "since = '4.1-'",
    "schemas/modern_groups.py": "class Point:\n    class Long: pass",
    "schemas/rows.json": '{"versions": "3.9-4.4"}\n{"versions": "4.4"}\n{"versions": "4.4-"}\n',
}


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = text.strip("\n").splitlines()
        indent = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
        path.write_text("\n".join(line[indent:] for line in lines) + "\n")
    return tmp_path


def test_imports_of_files(root):
    assert {a: sorted(b) for a, b in file_imports(root, "jobs").items() if b} == {
        "jobs.answer": ["jobs.bottom.settings", "jobs.middle.one"],
        "jobs.bottom.settings": ["jobs.answer"],
        "jobs.middle.one": ["jobs.middle.two"],
        "jobs.middle.two": ["jobs.bottom.settings", "jobs.middle.one"],
        "jobs.other": ["jobs.answer"],
        "jobs.top.page": ["jobs.middle.two"],
    }
    with_footers = file_imports(root, "jobs", footers=True)
    assert with_footers["jobs.answer"] == {"jobs.bottom.settings", "jobs.middle.one", "jobs.other"}


def test_written_rooms(root):
    rooms = written_rooms(root, "jobs")
    assert rooms.order == ["top", "middle", "bottom"]
    assert rooms.of_module == {"answer": "top", "other": "top"}
    arrows = room_arrows(file_imports(root, "jobs"), rooms)
    assert sorted(arrows) == [
        ("bottom", "top"),
        ("middle", "bottom"),
        ("top", "bottom"),
        ("top", "middle"),
    ]
    assert upward(arrows, rooms.order) == [("bottom", "top")]
    assert arrows["top", "middle"] == [
        ("jobs.answer", "jobs.middle.one"),
        ("jobs.top.page", "jobs.middle.two"),
    ]


def test_computed_rooms(root):
    imports = file_imports(root, "jobs")
    rooms = computed_rooms(imports)
    assert sorted(rooms.order) == ["answer", "bottom", "middle", "other", "top"]
    assert upward(room_arrows(imports, rooms), rooms.order) == [("bottom", "answer")]


def test_circles(root):
    assert circles(file_imports(root, "jobs")) == [
        ["jobs.answer", "jobs.bottom.settings", "jobs.middle.one", "jobs.middle.two"]
    ]
    assert circles({"a": {"b"}, "b": {"a"}, "c": {"a", "d"}, "d": set()}) == [["a", "b"]]


def test_lines_that_compare_with_a_group_type(root):
    path = Path("coordinator_core/branches.py")
    assert branches.branch_lines(root) == [(path, 4), (path, 8), (path, 11)]
    assert branches.sql_lines(root) == [(path, 15)]


def test_files_and_rows_that_name_an_era(root):
    assert eras.files_that_name_eras(root) == [Path("coordinator_core/eras.py")]
    assert eras.rows_that_end_in(root, "4.4") == 2


def test_names(root):
    assert names.class_names(root) == {
        "Point": ["coordinator_core.branches", "schemas.modern_groups"]
    }
    counts = names.word_counts(root)
    assert counts["modern"] == (1, 2)
    assert counts["new types"] == (0, 1)
    assert counts["other types"] == (0, 0)


def test_positional_arguments(root):
    path = Path("coordinator_core/branches.py")
    assert [tuple(call) for call in calls.long_calls(root, 3)] == [
        (path, 45, "Point", 3),
        (path, 47, "Long", 3),
    ]
    assert calls.positional_types(root, 1) == {
        "coordinator_core.branches.Counts": 2,
        "coordinator_core.branches.Long": 2,
    }
