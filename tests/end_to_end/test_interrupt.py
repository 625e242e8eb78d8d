"""Ctrl-C during a run: one line on stderr, exit code 130, and no damaged table."""

import os
import signal
import subprocess
import sys

import pytest

from jobs.lake.integrity import damages, tables_on_disk
from jobs.lake.sql import query
from jobs.nightly_run.demo import INCIDENTS
from schemas import table_names

LIMIT_S = 300  # limit in seconds, far above the time that a busy machine needs
REGROUP = [sys.executable, "-m", "jobs.command_line.cli"]


@pytest.fixture
def running(engine, tmp_path):
    """A nightly run after its ingest, in a process group of its own as on a terminal."""
    incident = INCIDENTS["kafka-4.1"]
    inputs = ["--segments", incident / "segments", "--broker-log", incident / "server.log"]
    command = [*REGROUP, "nightly", "--lake", tmp_path, "--cluster-id", "c", *inputs]
    command += ["--engine", engine]
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


def test_an_interrupted_run_leaves_no_damage(running, tmp_path):
    os.killpg(running.pid, signal.SIGINT)
    _, stderr = running.communicate(timeout=LIMIT_S)

    lines = [line for line in stderr.splitlines() if not line.endswith(" s")]  # finished steps
    assert lines == [
        "regroup: interrupted, cancelling jobs (Ctrl-C again: exit at once); written "
        "tables stay valid, and the same command computes the rest"
    ]
    assert running.returncode == 130
    lake = str(tmp_path)
    tables = tables_on_disk(lake)
    assert {"offsets_records", "broker_log_events", "runs"} <= set(tables) < set(table_names())
    assert [damage for table in tables for damage in damages(lake, table)] == []
    steps = query(lake, "SELECT step, outcome FROM runs WHERE step IN ('nightly', 'ingest')")[1]
    assert sorted(steps) == [("ingest", "done"), ("nightly", "failed")]


def test_a_command_without_spark_ends_at_once(tmp_path):
    pipe = tmp_path / "cases"
    os.mkfifo(pipe)
    command = [*REGROUP, "assign", "--file", pipe]
    reading = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    with open(pipe, "w"):  # This returns after the command has opened the pipe.
        reading.send_signal(signal.SIGINT)
        _, stderr = reading.communicate(timeout=LIMIT_S)

    assert stderr == "regroup: interrupted\n"
    assert reading.returncode == 130
