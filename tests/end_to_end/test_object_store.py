"""A lake and its inputs in an S3 store on loopback: commits, locks, and commands on it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyarrow import fs

from jobs.checks.check import broken_laws
from jobs.checks.in_progress import is_written
from jobs.configuration.config import Engine, load_config
from jobs.console.errors import RunFailed, UsageError, failure_line
from jobs.lake.sql import query
from jobs.lake.store_lock import StoreLock, has_renewals
from jobs.nightly import NightlyOptions, nightly
from tests.engines import using
from tools.object_store import KEY, ROOT, object_store, puts_that_succeed

INCIDENT = ROOT / "examples" / "mixed-clients-4.1.2"
TABLES = ("generations", "rebalance_latency", "churn", "rebalance_causes", "ownership_gaps")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The environment of a store that has the incident under ``s3://regroup/inputs``."""
    with (
        object_store(tmp_path_factory.mktemp("store") / "root") as environment,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in environment.items():
            patch.setenv(name, value)
        target = fs.FileSystem.from_uri("s3://regroup")[0]
        for name in ("segments/__consumer_offsets-2", "server.log"):
            copied = INCIDENT / name
            files = [copied] if copied.is_file() else sorted(copied.iterdir())
            for file in files:
                with target.open_output_stream(
                    f"regroup/inputs/{file.relative_to(INCIDENT)}"
                ) as out:
                    out.write(file.read_bytes())
        yield environment


def lock(name, **seconds):
    return StoreLock(
        root="s3://regroup/locks", name=name, **({"lease_s": 60, "poll_s": 0.01} | seconds)
    )


def test_of_puts_at_once_of_a_new_key_one_succeeds(tmp_path):
    with object_store(tmp_path / "root", anonymous=True) as environment:
        port = int(environment["AWS_ENDPOINT_URL"].rsplit(":", 1)[1])

        assert puts_that_succeed(port, "key") == [200] + [412] * 7


def test_commits_at_once_are_all_in_the_table(store):
    path = "s3://regroup/commits"
    write_deltalake(path, pa.table({"number": [0]}))

    with ThreadPoolExecutor(4) as pool:
        rows = [pa.table({"number": [number]}) for number in range(1, 9)]
        list(pool.map(lambda each: write_deltalake(path, each, mode="append"), rows))

    stored = DeltaTable(path).to_pyarrow_table().column("number").to_pylist()
    assert sorted(stored) == [0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_a_lock_is_held_by_one_process_at_a_time(store):
    """Each lock object stands for a process; an update that another one overtakes gets lost."""
    count = [0]

    def add(_):
        with lock("shared").held():
            before = count[0]
            threading.Event().wait(0.05)
            count[0] = before + 1

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(add, range(6)))

    assert count == [6]


def test_a_lock_that_a_killed_process_left_is_taken_over(store, capsys):
    lock("left")._take("host 1 killed")

    with lock("left", lease_s=0.2).held():
        pass

    assert (
        "the lock of host 1 killed was not renewed for 0.2 s: taken over" in capsys.readouterr().err
    )


def test_a_run_whose_lock_was_taken_over_fails(store):
    with (
        pytest.raises(RunFailed, match=r"the lock of s3://regroup/locks was lost \(taken over\)"),
        lock("lost", renew_s=3600).held(),
        lock("lost", lease_s=0).held(),
    ):
        pass


def test_a_run_notices_that_its_lock_was_taken_over(store):
    run = lock("noticed", renew_s=0.01)

    with suppress(RunFailed), run.held(), lock("noticed", lease_s=0).held():
        run._renewing.join()
        with pytest.raises(RunFailed, match=r"the lock of s3://regroup/locks was lost"):
            run.require_held()


def test_check_finds_a_process_that_renews_its_lock(store):
    with StoreLock(root="s3://regroup/written", name="c", renew_s=0.01).held():
        assert is_written("s3://regroup/written")
    assert not has_renewals("s3://regroup/written", within_s=0.1)


@pytest.mark.campaign
def test_nightly_from_a_bucket_into_a_bucket_equals_one_of_folders(store, tmp_path):
    target = fs.FileSystem.from_uri("s3://regroup")[0]
    local = tmp_path / "inputs"
    fs.copy_files(
        "regroup/inputs",
        str(local),
        source_filesystem=target,
        destination_filesystem=fs.LocalFileSystem(),
    )

    for lake, inputs in (
        ("s3://regroup/lake", "s3://regroup/inputs"),
        (str(tmp_path / "lake"), local),
    ):
        options = NightlyOptions(
            lake=lake,
            cluster_id="c",
            segments=f"{inputs}/segments/*/*.log",
            broker_log=f"{inputs}/server.log",
        )
        with using("embedded"):
            nightly(options, load_config(None, Engine.EMBEDDED))

    for table in TABLES:
        sql = f"SELECT * FROM {table} ORDER BY ALL"
        assert query("s3://regroup/lake", sql) == query(str(tmp_path / "lake"), sql)
    counted = query("s3://regroup/lake", "SELECT COUNT(*), SUM(generation) FROM generations")[1]
    assert counted == [(44, 273)]
    assert broken_laws("s3://regroup/lake")[1] == []


def test_a_wrong_secret_is_one_line_without_it(store, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret-5d1c")

    with pytest.raises(UsageError) as refused:
        query("s3://regroup/lake", "SELECT 1 FROM generations")

    line = failure_line(refused.value)
    assert "table generations cannot be read" in line
    assert "wrong-secret-5d1c" not in line
    assert KEY not in line
    assert "\n" not in line
