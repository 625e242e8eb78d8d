"""Damaged newest files of a table's Delta log stop every command, before it reads or writes."""

import re
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from jobs.console.errors import UsageError
from jobs.lake.checksums import checksum_file, fails_checksums
from jobs.lake.integrity import damages
from jobs.lake.opening import open_lake, open_without_engine
from jobs.lake.sql import query
from schemas import table_names
from tools.faults.lakes import files_of

LOG = Path(__file__).parents[2] / "examples" / "mixed-clients-4.1.2" / "server.log"
EMBEDDED = ["--engine", "embedded"]
# what is wrong     the file's new content     as reported
DAMAGES = [
    ("empty",       lambda old: b"",                "is empty"),
    ("line break",  lambda old: b"\n",              "is empty"),
    ("zeros",       lambda old: b"\0" * len(old),   "is damaged"),
    ("half",        lambda old: old[: len(old) // 2], "is damaged"),
]  # fmt: skip


@pytest.fixture
def root(write_lake, tmp_path):
    """A lake whose tables generations and timeline have three commits."""
    root = write_lake(tmp_path / "lake", {table: [] for table in table_names()})
    for table, row in {
        "generations": {"generation": 1},
        "timeline": {"seq": 1, "event": "RECORD"},
    }.items():
        rows = write_lake(tmp_path / "rows", {table: [{"group_id": "g"} | row]})
        for _ in range(2):
            write_deltalake(
                f"{root}/{table}", DeltaTable(f"{rows}/{table}").to_pyarrow_table(), mode="append"
            )
        assert [commit(root, n, table).exists() for n in range(4)] == [True, True, True, False]
    return root


def commit(root, version, table="generations"):
    return Path(root, table, "_delta_log", f"{version:020}.json")


@pytest.mark.parametrize(
    ("change", "fault"), [case[1:] for case in DAMAGES], ids=[case[0] for case in DAMAGES]
)
@pytest.mark.parametrize("version", [1, 2])
def test_a_damaged_commit_is_named(spark, root, version, change, fault):
    file = commit(root, version)
    file.write_bytes(change(file.read_bytes()))
    message = (
        f"--lake {root}: table generations: _delta_log/{file.name} {fault}; restore it, or run "
        "`regroup maintain --repair`"
    )

    with pytest.raises(UsageError, match=re.escape(message)):
        query(root, "SELECT * FROM generations")
    with pytest.raises(UsageError, match=re.escape(message)):
        query(root, "SELECT * FROM q01_most_rebalanced_groups")
    with pytest.raises(UsageError, match=re.escape(message)):
        open_lake(spark, root, "c")
    with pytest.raises(UsageError, match=re.escape(message)):
        open_without_engine(root, "c")
    assert [(where, expected) for where, expected, _ in damages(root, "generations")] == [
        ("generations", "whole newest commits")
    ]


def test_a_damaged_checkpoint_is_named(root):
    DeltaTable(f"{root}/generations").create_checkpoint()
    assert query(root, "SELECT COUNT(*) FROM generations")[1] == [(2,)]
    checkpoint = commit(root, 2).with_suffix(".checkpoint.parquet")
    checkpoint.write_bytes(checkpoint.read_bytes()[:-1])

    with pytest.raises(UsageError, match=f"{checkpoint.name} is no Parquet file; restore it"):
        query(root, "SELECT COUNT(*) FROM generations")


def test_the_line_tells_how_to_read_the_table_again(root):
    commit(root, 2).write_bytes(b"")
    commit(root, 2).unlink()

    assert query(root, "SELECT group_id FROM generations")[1] == [("g",)]


# command        damaged      arguments
COMMANDS = [
    ("sql",           "generations", ["SELECT 1 FROM generations"]),
    ("report",        "timeline",    ["--cluster-id", "c", "--out", "page.html"]),
    ("alerts",        "timeline",    []),
    ("replay",        "timeline",    ["--cluster-id", "c", "--group", "g"]),
    ("what-if",       "timeline",    ["--cluster-id", "c", "--group", "g"]),
    ("spans",         "generations", ["--cluster-id", "c"]),
    ("nightly",       "generations", ["--cluster-id", "c", "--broker-log", str(LOG), *EMBEDDED]),
    ("what-if-sweep", "generations", ["--cluster-id", "c"]),
    ("maintain",      "generations", []),
]  # fmt: skip


@pytest.mark.parametrize(("command", "table", "arguments"), COMMANDS)
def test_a_command_stops_and_changes_nothing(
    regroup, root, command, table, arguments, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    commit(root, 2, table).write_bytes(b"")
    before = {path: path.stat().st_mtime_ns for path in Path(root).rglob("*") if path.is_file()}

    code, out, err = regroup(command, "--lake", root, *arguments)

    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith(f"regroup: --lake {root}: table {table}: _delta_log")
    assert before == {
        path: path.stat().st_mtime_ns for path in Path(root).rglob("*") if path.is_file()
    }


FILE_FAULTS = {
    "missing": (lambda file: file.unlink(), "is missing"),
    "empty": (lambda file: file.write_bytes(b""), "has 0 bytes instead of "),
    "zeros": (lambda file: file.write_bytes(bytes(file.stat().st_size)), "is no Parquet file"),
}


@pytest.mark.parametrize(("damage", "fault"), FILE_FAULTS.values(), ids=FILE_FAULTS)
def test_a_damaged_data_file_of_a_newest_commit_is_named(root, damage, fault):
    """After a power failure, the file system may have the commit and not the bytes of its files."""
    file = files_of(root, "generations")[0]
    damage(file)
    name = file.relative_to(Path(root, "generations"))
    start = f"--lake {root}: table generations: {name} {fault}"

    for answer in (
        lambda: query(root, "SELECT * FROM generations"),
        lambda: open_without_engine(root, "c"),
    ):
        with pytest.raises(UsageError, match=re.escape(start)) as error:
            answer()
        assert str(error.value).endswith("; restore it, or run `regroup maintain --repair`")


def test_a_data_file_that_a_newer_commit_removed_may_be_missing(root):
    file = files_of(root, "generations")[0]
    DeltaTable(f"{root}/generations").delete()
    file.unlink()

    assert query(root, "SELECT COUNT(*) FROM generations")[1] == [(0,)]


@pytest.mark.parametrize("size", [0, 7])
def test_checksums_that_a_power_failure_cut_do_not_match(tmp_path, size):
    file = tmp_path / "rows.parquet"
    file.write_bytes(b"rows")
    checksum_file(file).write_bytes(b"crc\0\0\0\2\0"[:size])

    assert fails_checksums(file)
