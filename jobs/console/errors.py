"""Errors, printed as one line that says what to change."""

from __future__ import annotations

import os
import re
import sys
import traceback
from typing import NoReturn

from jobs.console.printing import printable
from jobs.console.secrets import without_secrets

TRACE = "REGROUP_TRACE"  # environment variable that makes failures print their traceback

_JVM_ENDED = (
    "Spark's JVM has ended, usually because it ran out of memory: give it more"
    " (spark.driver.memory), and start the same run again"
)
# Remedies by a text that occurs in the traceback, at any depth of causes.
_REMEDIES = {
    "No space left on device": "the disk is full: free space for the lake and for temporary files"
    " (Spark: spark.local.dir, embedded engine: TMPDIR), and start the same run again",
    # A native library that Java extracts to java.io.tmpdir.
    "UnsatisfiedLinkError": "the disk is full or mounted noexec: Java cannot load a library from"
    " the folder of temporary files (TMPDIR); free space or use another folder, and start the same"
    " run again",
    "Disk quota exceeded": "the disk quota is used up: free space, and start the same run again",
    "Resources exhausted": "the embedded engine ran out of memory: use Spark (--engine spark), and"
    " start the same run again",
    "java.lang.OutOfMemoryError": "Spark ran out of memory: give it more (spark.driver.memory,"
    " spark.executor.memory), and start the same run again",
    "UNABLE_TO_ACQUIRE_MEMORY": "a Spark task cannot sort its rows in its share of memory: use more"
    " tasks (spark.sql.shuffle.partitions) or more memory (spark.driver.memory,"
    " spark.executor.memory), and start the same run again",
    # Py4J has no connection, or has lost its connection.
    "connect_to_java_server": _JVM_ENDED,
    "Py4JNetworkError": _JVM_ENDED,
    "Read-only file system": "the file system is read-only: the lake and the folder of temporary"
    " files (TMPDIR) must be writable",
    "Permission denied": "no permission to read or write a file: grant this user access",
}
# Reason in the quarantine of an input on which Regroup itself failed.
INTERNAL_ERROR = "internal error"
_MOST_CHARACTERS = 500
# Limit for messages of Regroup itself, which may repeat a path of 4,096 characters.
_MOST_OF_MESSAGE = 5_000
_END_OF_MESSAGE = 300
_WRAPPER = re.compile(r"An error occurred while calling |Traceback |An exception was thrown ")


class UsageError(Exception):
    """A wrong argument, configuration or input path: exit 2, no stack trace.

    ``excerpt`` has lines below the message that show the place of an error in a text.
    """

    def __init__(self, message: str = "", excerpt: str = "") -> None:
        super().__init__(message)
        self.excerpt = excerpt


class RunFailed(Exception):
    """Valid arguments, but the run failed: exit 1, no stack trace."""


def fail(message: str, code: int = 2, excerpt: str = "") -> NoReturn:
    """Print the message as one line on stderr, then exit; on a terminal, the excerpt follows it."""
    print(f"regroup: {printable(_shortened(without_secrets(message)))}", file=sys.stderr)
    for line in without_secrets(excerpt).splitlines() if sys.stderr.isatty() else ():
        print(f"  {printable(line)}", file=sys.stderr)
    sys.exit(code)


def fail_unexpected(error: Exception) -> NoReturn:
    """Print the exception's class and first line on stderr, and exit with 1.

    With REGROUP_TRACE in the environment, print the error's traceback first.
    """
    line = failure_line(error)
    if TRACE in os.environ:
        trace = without_secrets(_trace(error))
        print(*map(printable, trace.splitlines()), sep="\n", file=sys.stderr)
        fail(line, code=1)
    fail(f"{line}; {TRACE}=1 prints the traceback", code=1)


def failure_line(error: Exception) -> str:
    """The message of a UsageError or RunFailed; for other errors the class, the first line, and a
    remedy.
    """
    return _shortened(without_secrets(_failure(error)))


def _shortened(message: str) -> str:
    """A very long message without its middle; its end says what to do."""
    if len(message) <= _MOST_OF_MESSAGE:
        return message
    left_out = len(message) - 2 * _END_OF_MESSAGE
    begin, end = message[:_END_OF_MESSAGE], message[-_END_OF_MESSAGE:]
    return f"{begin} ... ({left_out:,} characters left out) ... {end}"


def _failure(error: Exception) -> str:
    if isinstance(error, UsageError | RunFailed):
        return str(error)
    trace = _trace(error)
    summary = f"{type(error).__name__}: {_first_line(str(error))}"
    remedy = next((remedy for part, remedy in _REMEDIES.items() if part in trace), None)
    return f"{remedy} ({summary})" if remedy else summary


def internal_error(error: Exception) -> str:
    """The reason of an input that is in quarantine because reading it raised ``error``."""
    line = _first_line(str(error)).encode("utf-8", "backslashreplace").decode()
    return f"{INTERNAL_ERROR}: {type(error).__name__}: {line[:_MOST_CHARACTERS]}"


def _trace(error: Exception) -> str:
    return "".join(traceback.format_exception(error))


def _first_line(message: str) -> str:
    """The first line with a meaning; for a Python worker, the last line of its traceback."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if any(line.startswith("An exception was thrown from the Python worker") for line in lines):
        python_ends = next((n for n, line in enumerate(lines) if line == "JVM stacktrace:"), None)
        lines = lines[:python_ends][-1:]
    meaningful = (line.removeprefix(": ") for line in lines if not _WRAPPER.match(line))
    first = next(meaningful, "no message")
    return first if len(first) <= _MOST_CHARACTERS else f"{first[:_MOST_CHARACTERS]}..."
