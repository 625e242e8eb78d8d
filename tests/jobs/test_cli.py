"""The command line: exit codes, and one line on stderr for what is wrong."""

import json
import subprocess
import sys

import pytest

from jobs.nightly_run.pipeline import JOBS
from schemas import table_names


@pytest.fixture(scope="module")
def lake(write_lake, tmp_path_factory):
    place = {"group_id": "g", "member_id": "m", "process": "m", "partition": 0}
    tables = {table: [] for table in table_names()}
    tables["generations"] = [{"group_id": "g", "generation": n} for n in (1, 2)]
    tables["assignments"] = [place | {"generation": n} for n in (1, 2)]
    return write_lake(tmp_path_factory.mktemp("lake"), tables)


@pytest.fixture(scope="module")
def empty_lake(write_lake, tmp_path_factory):
    return write_lake(tmp_path_factory.mktemp("empty"), {table: [] for table in table_names()})


@pytest.fixture(scope="module")
def broken_lake(write_lake, tmp_path_factory):
    row = {"group_id": "g", "generation": 1, "cause_seq": 1, "role": "absorbed", "cause": "REJOIN"}
    tables = {table: [] for table in table_names()} | {"rebalance_causes": [row]}
    return write_lake(tmp_path_factory.mktemp("broken"), tables)


NIGHTLY = ["nightly", "--lake", "lake", "--cluster-id", "c"]
INGEST = ["ingest", "--lake", "lake", "--cluster-id", "c"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rebalance"], "No such command 'rebalance'."),
        (["--colour"], "No such option: --colour"),
        (["sql", "--lake", "lake"], "Missing argument 'statement'."),
        (["sql", "SELECT 1"], "Missing option '--lake'."),
        (["sql", "--lake", "/nowhere", "SELECT 1"], "--lake /nowhere: no such folder"),
        (["sql", "--lake", "/nowhere", "--format", "xml", "SELECT 1"], "'xml' is not one of"),
        (["check", "--lake", "/nowhere"], "--lake /nowhere: no such folder"),
        (["decode"], "Missing argument 'paths'."),
        (["decode", "/nowhere.log"], "/nowhere.log: no such file"),
        (["decode", "--format", "xml", "x"], "--format xml: decode knows jsonl only"),
        (["nightly", "--lake", "lake"], "Missing option '--cluster-id'."),
        (["nightly", "--lake", "lake", "--cluster-id", ""], "--cluster-id must not be empty"),
        ([*NIGHTLY, "--segments", "/nowhere/*.log"], "--segments /nowhere/*.log: no such file"),
        ([*NIGHTLY, "--broker-log", "/nowhere.log"], "--broker-log /nowhere.log: no such file"),
        ([*NIGHTLY, "--log-timezone", "Mars"], "unknown time zone 'Mars'"),
        ([*NIGHTLY, "--date", "today"], "--date today: not a date"),
        ([*NIGHTLY, "--from", "2026-11-21"], "--from and --to: give both ends"),
        ([*NIGHTLY, "--conf", "/nowhere.toml"], "--conf /nowhere.toml: No such file"),
        (INGEST, "nothing to ingest: give --segments, --kafka, --dump, --broker-log or --trace"),
        ([*INGEST, "--segments", "/nowhere"], "--segments /nowhere: no such file"),
        (["churn", "--lake", "lake"], "Missing option '--cluster-id'."),
        (["churn", "--lake", "l", "--cluster-id", "c", "--conf", "/no.toml"], "--conf /no.toml"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_argument_is_one_line_and_exit_2(regroup, arguments, said):
    code, out, err = regroup(*arguments)

    assert code == 2
    assert out == ""
    assert said in err
    assert err.startswith("regroup")
    assert err.count("\n") == 1


def test_every_job_is_a_command(regroup):
    for job in JOBS:
        code, out, _ = regroup(job, "--help")
        assert code == 0
        assert "--cluster-id" in out


def test_sql_prints_a_table(regroup, lake):
    code, out, err = regroup("sql", "--lake", lake, "SELECT group_id, generation FROM generations")

    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines() if line.split()][2:] == [
        ["g", "1"],
        ["g", "2"],
    ]


def test_sql_prints_json_alone(regroup, lake):
    statement = "SELECT generation, event_date FROM generations ORDER BY generation LIMIT 1"

    code, out, err = regroup("sql", "--lake", lake, "--format", "json", statement)

    assert (code, err) == (0, "")
    assert json.loads(out) == [{"generation": 1, "event_date": "2026-11-21"}]


def test_a_sound_lake_is_exit_0_and_nothing_to_list(regroup, empty_lake):
    code, out, err = regroup("check", "--lake", empty_lake, "--format", "json")

    assert (code, json.loads(out), err) == (0, [], "")


def test_a_broken_law_is_exit_1(regroup, broken_lake):
    code, out, err = regroup("check", "--lake", broken_lake, "--format", "json")

    assert (code, err) == (1, "")
    assert json.loads(out) == [
        {
            "law": "rows refer to an existing generation",
            "cluster_id": "c",
            "where": "g generation 1",
            "expected": "a generation",
            "found": "none",
        }
    ]


def test_the_command_itself(lake):
    command = [sys.executable, "-m", "jobs.command_line.cli", "sql", "--lake", lake]

    done = subprocess.run([*command, "SELECT 1 AS one", "--format", "csv"], capture_output=True)
    wrong = subprocess.run([*command, "SELECT one"], capture_output=True)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"one\n1\n", b"")
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count(b"\n")) == (2, b"", 1)
