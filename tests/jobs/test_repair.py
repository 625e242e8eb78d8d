"""`maintain --repair`: what is set aside, what stays, and what it prints."""

import fcntl
import json
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from typer.main import get_command

from jobs.command_line.cli import app
from jobs.console.errors import UsageError
from jobs.lake import repair as lake_repair
from jobs.lake.coverage import REPAIR
from jobs.lake.opening import open_without_engine
from jobs.lake.sql import query
from jobs.maintain import NEXT_STEPS, MaintainOptions, repair_lake
from schemas import table_names

ALL_TABLES = "the next `regroup nightly` recomputes every date"


@pytest.fixture(scope="module")
def written(tmp_path_factory, write_lake):
    """A lake whose table generations has the commits 0 to 4, with one row each from 1 on."""
    root = write_lake(tmp_path_factory.mktemp("written") / "lake", {t: [] for t in table_names()})
    for number in range(1, 5):
        row = {"group_id": "g", "generation": number}
        rows = write_lake(tmp_path_factory.mktemp("rows"), {"generations": [row]})
        table = DeltaTable(f"{rows}/generations").to_pyarrow_table()
        write_deltalake(f"{root}/generations", table, mode="append")
    assert DeltaTable(f"{root}/generations").version() == 4
    return root


@pytest.fixture
def root(written, tmp_path):
    return str(shutil.copytree(written, tmp_path / "lake"))


def log(root, name="", table="generations"):
    return Path(root, table, "_delta_log", name)


def commit(root, version, table="generations"):
    return log(root, f"{version:020}.json", table)


def checkpoint(root, version):
    return log(root, f"{version:020}.checkpoint.parquet")


def generations(root):
    return [row[0] for row in query(root, "SELECT generation FROM generations ORDER BY 1")[1]]


def repair(root):
    return repair_lake(MaintainOptions(root, repair=True))


def aside(root, table="generations"):
    return sorted(file.name for file in Path(root, "_damaged", table).rglob("*") if file.is_file())


def checkpointed(root, version):
    DeltaTable(f"{root}/generations", version=version).create_checkpoint()


def test_nothing_is_damaged(regroup, root):
    before = sorted(Path(root).rglob("*"))

    assert regroup("maintain", "--repair", "--lake", root)[:2] == (
        0,
        f"{root}: nothing is damaged\n",
    )
    assert sorted(Path(root).rglob("*")) == before


# damaged commit    versions that are set aside    generations left
COMMITS = [
    (4, [4],    [1, 2, 3]),
    (3, [3, 4], [1, 2]),
]  # fmt: skip


@pytest.mark.parametrize(("version", "gone", "left"), COMMITS)
@pytest.mark.parametrize("content", [b"", b"\n", b"{", b"[]", b"\xff"])
def test_a_table_goes_back_to_the_version_before_the_damage(root, content, version, gone, left):
    commit(root, version).write_bytes(content)

    assert repair(root) == [
        [
            "generations",
            f"damaged version {version}, back to version {version - 1} of 4",
            ALL_TABLES,
        ]
    ]

    assert generations(root) == left
    assert DeltaTable(f"{root}/generations").version() == 4
    assert aside(root) == [commit(root, each).name for each in gone]
    assert repair(root) == []


def test_a_missing_commit_is_a_damaged_one(root):
    commit(root, 3).unlink()

    ((_, damage, _),) = repair(root)

    assert damage == "damaged version 3, back to version 2 of 4"
    assert generations(root) == [1, 2]
    assert aside(root) == [commit(root, 4).name]


def test_commits_older_than_a_checkpoint_lose_no_rows(root):
    checkpointed(root, 3)
    commit(root, 2).write_bytes(b"")

    assert repair(root) == [
        ["generations", "damaged commit 2, older than the checkpoint", "no row is lost"]
    ]
    assert generations(root) == [1, 2, 3, 4]


def test_the_commits_stand_in_for_a_damaged_checkpoint(root):
    checkpointed(root, 4)
    checkpoint(root, 4).write_bytes(checkpoint(root, 4).read_bytes()[:-1])
    with pytest.raises(UsageError, match="restore it, or run `regroup maintain --repair`"):
        generations(root)

    assert repair(root) == [["generations", "damaged checkpoint 4", "no row is lost"]]
    assert generations(root) == [1, 2, 3, 4]
    assert checkpoint(root, 4).name in aside(root)


def test_without_a_whole_version_the_table_is_set_aside(root):
    commit(root, 0).write_bytes(b"")

    assert repair(root) == [["generations", "no whole version, all rows set aside", ALL_TABLES]]
    assert not Path(root, "generations").exists()
    assert repair(root) == []


def test_damaged_and_missing_data_files_leave_the_others(root):
    first, second = sorted(Path(root, "generations").rglob("part-*.parquet"))[:2]
    first.unlink()
    second.write_bytes(second.read_bytes() + b"0")

    assert repair(root) == [
        ["generations", "2 missing or damaged data file(s) with 2 row(s)", ALL_TABLES]
    ]
    assert len(generations(root)) == 2
    assert second.name in aside(root)


def test_a_computed_table_makes_every_cluster_recompute(root):
    lake = open_without_engine(root, "c")
    assert query(root, "SELECT 1 FROM runs")[1] == []
    schema = DeltaTable(f"{root}/runs").to_pyarrow_table().schema
    rows = [
        {
            "cluster_id": cluster,
            "run_id": "r",
            "step": "nightly",
            "from_time": 0,
            "seconds": 1.0,
            "outcome": "done",
            "bronze_versions": [("offsets_records", 7)],
        }
        for cluster in ("c", "d")
    ]
    lake.append_rows("runs", pa.Table.from_pylist(rows, schema))
    commit(root, 4).write_bytes(b"")

    repair(root)

    marks = f"SELECT cluster_id, bronze_versions FROM runs WHERE step = '{REPAIR}' ORDER BY 1"
    assert query(root, marks)[1] == [("c", {}), ("d", {})]


# damaged table      next offset of the live topic
NEXT_OFFSETS = [
    ("offsets_records", 5),
    ("quarantine",      5),
    ("generations",     90),
]  # fmt: skip


@pytest.mark.parametrize(("table", "next_offset"), NEXT_OFFSETS)
def test_lost_records_of_the_live_topic_are_read_again(root, write_lake, table, next_offset):
    counts = dict.fromkeys(("bytes", "inputs", "quarantined", "skipped", "unreadable_bytes"), 0)
    offsets = {"first_offset": 5, "last_offset": 80, "next_offset": 90}
    row = {"source": "kafka", "file": "p", "path": "p", "kept_by_date": [], **counts, **offsets}
    shutil.rmtree(Path(root, "ingested_files"))
    write_lake(root, {"ingested_files": [row]})
    commit(root, 0, table).write_bytes(b"")

    repair(root)

    rows = query(root, "SELECT first_offset, last_offset, next_offset FROM ingested_files")[1]
    assert rows == [(5, 80, next_offset)]


def test_repair_waits_for_a_run(root, monkeypatch):
    commit(root, 4).write_bytes(b"")
    waits = threading.Event()

    def flock(file, operation):
        if operation == fcntl.LOCK_SH:
            waits.set()
        fcntl.flock(file, operation)

    monkeypatch.setattr(lake_repair, "fcntl", SimpleNamespace(**{**vars(fcntl), "flock": flock}))
    with ThreadPoolExecutor() as pool:
        with Path(root, ".run.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            repairing = pool.submit(repair, root)
            waits.wait()
            assert commit(root, 4).read_bytes() == b""

        assert [row[0] for row in repairing.result()] == ["generations"]


def test_the_rows_as_json(regroup, root):
    commit(root, 4).write_bytes(b"")

    code, out, _ = regroup("maintain", "--repair", "--lake", root, "--format", "json")

    assert code == 0
    assert [[*row] for row in json.loads(out)] == [["table", "damage", "next"]]


# arguments    message
REFUSED = [
    (["--lake", "s3://b/lake"], "--repair: s3://b/lake is an object store; repair needs a local"),
    (["--lake", ".", "--keep-days", "3"], "--repair: omit --keep-days and --vacuum-hours"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_refusals_are_one_line(regroup, arguments, message):
    code, out, err = regroup("maintain", "--repair", *arguments)

    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert message in err


def test_the_next_steps_name_tables_and_commands():
    named = {name for text in NEXT_STEPS.values() for name in re.findall(r"regroup ([\w-]+)", text)}

    assert set(NEXT_STEPS) <= set(table_names())
    assert named <= set(get_command(app).commands)
