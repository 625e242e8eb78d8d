"""Ctrl-C in the middle of a run: one line, exit 130, and a lake that is right as far as it goes."""

import os
import signal
import subprocess
import sys

import pytest

from jobs.lake.integrity import damages, tables_on_disk
from jobs.lake.sql import query
from jobs.nightly_run.demo import INCIDENTS
from schemas import table_names

REGROUP = [sys.executable, "-m", "jobs.command_line.cli"]


@pytest.fixture
def running(tmp_path):
    """A nightly whose ingest is done, in a process group of its own as on a terminal."""
    incident = INCIDENTS["kafka-4.1"]
    inputs = ["--segments", incident / "segments", "--broker-log", incident / "server.log"]
    command = [*REGROUP, "nightly", "--lake", tmp_path, "--cluster-id", "c", *inputs]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=_nice
    )
    for line in process.stderr:
        if line.startswith("ingest"):
            break
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _nice():
    os.nice(10)


def test_a_run_that_is_interrupted(running, tmp_path):
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate()

    lines = [line for line in said.splitlines() if not line.endswith(" s")]  # jobs done before
    assert lines == [
        "regroup: interrupted, cancelling Spark's jobs (Ctrl-C again: exit at once); written "
        "tables stay valid, and the same command computes the rest"
    ]
    assert running.returncode == 130
    lake = str(tmp_path)
    there = tables_on_disk(lake)
    assert {"offsets_records", "broker_log_events", "runs"} <= set(there) < set(table_names())
    assert [damage for table in there for damage in damages(lake, table)] == []
    ended = query(lake, "SELECT step, outcome FROM runs WHERE step IN ('nightly', 'ingest')")[1]
    assert sorted(ended) == [("ingest", "done"), ("nightly", "failed")]


def test_a_command_without_spark(tmp_path):
    pipe = tmp_path / "cases"
    os.mkfifo(pipe)
    command = [*REGROUP, "assign", "--file", pipe]
    reading = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    with open(pipe, "w"):  # once the command has opened it, too
        reading.send_signal(signal.SIGINT)
        _, said = reading.communicate()

    assert said == "regroup: interrupted\n"
    assert reading.returncode == 130
