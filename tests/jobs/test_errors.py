"""An unexpected failure: one line and exit 1; the traceback if REGROUP_TRACE is set."""

import sys

import pytest
from py4j.protocol import Py4JNetworkError

from jobs.command_line import cli
from jobs.console.errors import UsageError

NESTED_CAUSE = """An error occurred while calling o96.save.
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
HINT = "; REGROUP_TRACE=1 prints the traceback\n"
MESSAGES = {
    "class and first line": (
        RuntimeError("lost a shuffle\nat line 2"),
        "regroup: RuntimeError: lost a shuffle" + HINT,
    ),
    "no message": (AssertionError(), "regroup: AssertionError: no message" + HINT),
    "the Python error of a worker": (
        RuntimeError(IN_A_WORKER),
        "regroup: RuntimeError: ValueError: no such partition" + HINT,
    ),
    "a full disk, at any depth of causes": (
        RuntimeError(NESTED_CAUSE),
        "regroup: the disk is full: free space for the lake and for temporary files"
        " (Spark: spark.local.dir, embedded engine: TMPDIR), and start the same run again"
        " (RuntimeError: org.apache.spark.SparkException: Job aborted.)" + HINT,
    ),
    "a library that Java cannot unpack": (
        RuntimeError("o1\n: java.lang.UnsatisfiedLinkError: no snappyjava in java.library.path"),
        "regroup: the disk is full or mounted noexec: Java cannot load a library from the folder of"
        " temporary files (TMPDIR); free space or use another folder, and start the same run again"
        " (RuntimeError: o1)" + HINT,
    ),
    "a task that sorts more than fits into its memory": (
        RuntimeError("o1\n: SparkOutOfMemoryError: [UNABLE_TO_ACQUIRE_MEMORY] 16384 bytes, got 0"),
        "regroup: a Spark task cannot sort its rows in its share of memory: use more tasks"
        " (spark.sql.shuffle.partitions) or more memory (spark.driver.memory,"
        " spark.executor.memory), and start the same run again (RuntimeError: o1)" + HINT,
    ),
    "a JVM that ended": (
        Py4JNetworkError("Answer from Java side is empty"),
        "regroup: Spark's JVM has ended, usually because it ran out of memory: give it more"
        " (spark.driver.memory), and start the same run again"
        " (Py4JNetworkError: Answer from Java side is empty)" + HINT,
    ),
    "control characters are escaped": (
        ValueError("group \x1b]52;c;aGk=\x07 \u202eeb"),
        "regroup: ValueError: group \\x1b]52;c;aGk=\\x07 \\u202eeb" + HINT,
    ),
    "a long message is cut off": (
        ValueError("x" * 40_000),
        f"regroup: ValueError: {'x' * 500}..." + HINT,
    ),
}


@pytest.fixture
def failing(capsys, monkeypatch):
    """Exit code and stderr of a command that raises ``error``."""

    def run(error):
        def query(root, sql, **_):
            raise error

        monkeypatch.setattr("jobs.lake.sql.query", query)
        monkeypatch.setattr(sys, "argv", ["regroup", "sql", "--lake", "lake", "SELECT 1"])
        with pytest.raises(SystemExit) as exited:
            cli.main()
        return exited.value.code, capsys.readouterr().err

    return run


@pytest.mark.parametrize("case", MESSAGES)
def test_a_failure_is_one_line(failing, case):
    error, message = MESSAGES[case]

    assert failing(error) == (1, message)


def test_the_middle_of_a_very_long_message_is_left_out(failing):
    code, printed = failing(UsageError(f"--conf {'a' * 80_000}: no such file"))

    assert code == 2
    assert printed.startswith("regroup: --conf aaa")
    assert " ... (79,421 characters left out) ... aaa" in printed
    assert printed.endswith("aaa: no such file\n")
    assert len(printed) < 700


def test_an_excerpt_is_below_the_message_on_a_terminal(failing, monkeypatch):
    error = UsageError("no such column", "line 1: SELECT \x1b x\n               ^")
    assert failing(error) == (2, "regroup: no such column\n")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("jobs.command_line.cli.separate_stderr", lambda: None)

    printed = "regroup: no such column\n  line 1: SELECT \\x1b x\n                 ^\n"
    assert failing(error) == (2, printed)


def test_regroup_trace_prints_the_traceback(failing, monkeypatch):
    monkeypatch.setenv("REGROUP_TRACE", "1")

    code, printed = failing(RuntimeError("lost a \x1b[2J shuffle"))

    lines = printed.splitlines()
    assert code == 1
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "regroup: RuntimeError: lost a \\x1b[2J shuffle"
    assert "\x1b" not in printed


def test_a_command_that_fails(monkeypatch, capsys):
    def fails(root, sql, **_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("jobs.lake.sql.query", fails)
    monkeypatch.setattr(sys, "argv", ["regroup", "sql", "--lake", "lake", "SELECT 1"])
    with pytest.raises(SystemExit) as exited:
        cli.main()
    printed = capsys.readouterr()

    assert (exited.value.code, printed.out) == (1, "")
    assert printed.err.startswith("regroup: the disk is full: free space")
    assert printed.err.count("\n") == 1
