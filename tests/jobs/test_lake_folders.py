"""A lake in a folder of any name, and readers while it is written."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import pytest

from jobs.console.errors import UsageError, failure_line
from jobs.console.printing import printable
from jobs.lake.embedded_tables import EmbeddedLake
from jobs.lake.opening import open_lake
from jobs.lake.path_alias import plain_path
from jobs.lake.spark_tables import SparkLake
from jobs.lake.sql import query

FOLDERS = ['it\'s `a` "lake"', "100% ü ; DROP TABLE x --", "a#b?c&d=e", "-$(touch owned)"]


def test_a_relative_path_is_that_of_the_present_folder(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    before = plain_path("lake")
    monkeypatch.chdir(tmp_path / "other")

    assert (before, plain_path("lake")) == (f"{tmp_path}/lake", f"{tmp_path}/other/lake")


def counted(generations, moved):
    return [
        {"cluster_id": "c", "group_id": "g", "generation": each, "partitions_moved": moved}
        for each in range(generations)
    ]


# Spark itself writes the rows of this cluster, because SQL dialects write such a name in two ways.
CLUSTER = 'it\'s `a` "cluster" \\ 100%'


@pytest.mark.parametrize("engine", ["embedded"], indirect=True, scope="module")
@pytest.mark.parametrize("folder", FOLDERS, ids=printable)
def test_a_lake_in_a_folder_of_any_name(spark, frame, tmp_path, folder):
    changed_and_read(spark, frame, str(tmp_path / folder), "c")

    assert [each.name for each in tmp_path.iterdir()] == [folder]


@pytest.mark.parametrize(
    "cluster_id", [pytest.param("c", marks=pytest.mark.embedded_suffices), CLUSTER], ids=printable
)
def test_quotes_and_spaces_in_the_folder_and_the_cluster_id(spark, frame, tmp_path, cluster_id):
    changed_and_read(spark, frame, str(tmp_path / FOLDERS[0]), cluster_id)

    assert [each.name for each in tmp_path.iterdir()] == [FOLDERS[0]]


def changed_and_read(spark, frame, root, cluster_id):
    """Each kind of write, and what two readers find."""

    def rows(generations, moved):
        own = [row | {"cluster_id": cluster_id} for row in counted(generations, moved)]
        return frame("churn", own)

    lake = open_lake(spark, root, cluster_id)
    lake.append("churn", rows(3, 1))
    lake.replace("churn", rows(2, 5), where="generation < 2")
    lake.upsert("churn", rows(1, 9))
    lake.delete_rows("churn", "generation = 1")
    lake.compact("churn")
    lake.vacuum("churn", hours=168)

    sql = "SELECT cluster_id, generation, partitions_moved FROM churn ORDER BY 2"
    assert query(root, sql)[1] == [(cluster_id, 0, 9), (cluster_id, 2, 1)]
    assert sorted(row.generation for row in lake.read("churn").collect()) == [0, 2]


def test_a_backslash_is_refused(spark, tmp_path):
    with pytest.raises(UsageError, match="cannot open a path with"):
        open_lake(spark, f"{tmp_path}/a\\b", "c")


@pytest.mark.embedded_suffices
def test_a_reader_sees_whole_tables_while_they_are_written(spark, frame, tmp_path):
    """Each version has as many generations as partitions moved in each of them."""
    lake, is_done = open_lake(spark, str(tmp_path), "c"), Event()
    lake.replace("churn", frame("churn", counted(1, 1)))
    sql = "SELECT COUNT(*), MIN(partitions_moved), MAX(partitions_moved) FROM churn"

    def read():
        seen = set()
        while not is_done.is_set():
            seen.update(query(str(tmp_path), sql)[1])
        return seen

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(read)
        for count in range(2, 6):
            lake.replace("churn", frame("churn", counted(count, count)))
        is_done.set()

    assert reader.result() <= {(count, count, count) for count in range(1, 6)}
    assert reader.result()


@contextmanager
def read_only(folder):
    """No permission keeps root from writing, so root mounts the folder."""
    if os.geteuid() != 0:
        folder.chmod(0o555)
        yield
        folder.chmod(0o755)
        return
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def printed_error(act):
    try:
        act()
    except Exception as error:  # Each library raises its own class.
        return failure_line(error)
    return "no error"


@pytest.mark.parametrize("few", [True, False])
def test_a_write_to_a_read_only_lake_is_one_line(spark, frame, tmp_path, few):
    """``few``: rows that the driver writes on both engines."""
    lake, rows = open_lake(spark, str(tmp_path), "c"), frame("churn", counted(1, 1))
    lake.append("churn", rows, few=few)

    with read_only(tmp_path):
        lines = [
            printed_error(lambda: lake.append("churn", rows, few=few)),
            printed_error(lake.lock("derive").__enter__),
        ]

    reason = "the file system is read-only" if os.geteuid() == 0 else "no permission to"
    assert [line.startswith(reason) and "\n" not in line for line in lines] == [True, True], lines
    assert lake.read("churn").count() == 1


@pytest.mark.parametrize(
    ("root", "names"),
    [("s3://b/lake", {"lake"}), ("s3a://b/lake", {"lake"}), ("gs://b/lake", {"cluster c"})],
)
def test_both_engines_take_the_same_lock(root, names):
    """Spark's commits to S3 are unconditional puts, which overwrite those of any other writer."""
    lakes = [SparkLake(None, root, "c"), EmbeddedLake(None, root, "c")]

    assert {lake._store_lock().name for lake in lakes} == names
