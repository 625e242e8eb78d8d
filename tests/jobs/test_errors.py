"""A failure that nobody foresaw: one line and exit 1; all of it for whoever asks."""

import sys

import pytest

from jobs.command_line import cli
from jobs.command_line.arguments import run_script

FOUND_DEEP = """An error occurred while calling o96.save.
: org.apache.spark.SparkException: Job aborted.
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.jobAborted(QueryExecutionErrors.scala:1)
Caused by: java.io.IOException: No space left on device
\t... 30 more"""
IN_A_WORKER = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "jobs/ingest.py", line 3, in read
ValueError: no such partition

JVM stacktrace:
org.apache.spark.SparkException
\tat org.apache.spark.sql.errors"""
HINT = "; REGROUP_TRACE=1 shows the whole trace\n"
SAID = {
    "its class and first words": (
        RuntimeError("lost a shuffle\nat line 2"),
        "regroup: RuntimeError: lost a shuffle" + HINT,
    ),
    "no words": (AssertionError(), "regroup: AssertionError: no message" + HINT),
    "an error in a worker is what Python said": (
        RuntimeError(IN_A_WORKER),
        "regroup: RuntimeError: ValueError: no such partition" + HINT,
    ),
    "a full disk, however deep": (
        RuntimeError(FOUND_DEEP),
        "regroup: the disk is full: make room where the lake lies and where Spark has its temporary"
        " files (spark.local.dir), and start the same run again (RuntimeError:"
        " org.apache.spark.SparkException: Job aborted.)" + HINT,
    ),
    "a task that sorts more than it has room for": (
        RuntimeError("o1\n: SparkOutOfMemoryError: [UNABLE_TO_ACQUIRE_MEMORY] 16384 bytes, got 0"),
        "regroup: what a task of Spark has to sort does not fit into its share of memory: cut it"
        " into more (spark.sql.shuffle.partitions) or give more (spark.driver.memory,"
        " spark.executor.memory), and start the same run again (RuntimeError: o1)" + HINT,
    ),
    "no character of a message steers a terminal": (
        ValueError("group \x1b]52;c;aGk=\x07 \u202eeb"),
        "regroup: ValueError: group \\x1b]52;c;aGk=\\x07 \\u202eeb" + HINT,
    ),
    "a long message is cut": (
        ValueError("x" * 40_000),
        f"regroup: ValueError: {'x' * 500}..." + HINT,
    ),
}


@pytest.fixture
def failing(capsys):
    """Exit code and stderr of a script whose work raises ``error``."""

    def run(error):
        def act():
            raise error

        with pytest.raises(SystemExit) as exited:
            run_script(act)
        return exited.value.code, capsys.readouterr().err

    return run


@pytest.mark.parametrize("what", SAID)
def test_a_failure_is_one_line(failing, what):
    error, said = SAID[what]

    assert failing(error) == (1, said)


def test_whoever_asks_gets_the_whole_trace(failing, monkeypatch):
    monkeypatch.setenv("REGROUP_TRACE", "1")

    code, said = failing(RuntimeError("lost a \x1b[2J shuffle"))

    lines = said.splitlines()
    assert code == 1
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "regroup: RuntimeError: lost a \\x1b[2J shuffle"
    assert "\x1b" not in said


def test_a_command_that_fails(monkeypatch, capsys):
    def fails(root, sql):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("jobs.lake.sql.query", fails)
    monkeypatch.setattr(sys, "argv", ["regroup", "sql", "--lake", "lake", "SELECT 1"])
    with pytest.raises(SystemExit) as exited:
        cli.main()
    said = capsys.readouterr()

    assert (exited.value.code, said.out) == (1, "")
    assert said.err.startswith("regroup: the disk is full: make room")
    assert said.err.count("\n") == 1
