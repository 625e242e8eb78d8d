"""What went wrong, as one line that says what to change."""

from __future__ import annotations

import os
import re
import sys
import traceback
from typing import NoReturn

from jobs.console.printing import printable

TRACE = "REGROUP_TRACE"  # an environment variable: any value, and failures come with their traces

# What a failure's text has somewhere, however deep its cause, and what to do about it.
_REMEDIES = {
    "No space left on device": "the disk is full: make room where the lake lies and where Spark"
    " has its temporary files (spark.local.dir), and start the same run again",
    "Disk quota exceeded": "the disk quota is used up: make room, and start the same run again",
    "java.lang.OutOfMemoryError": "Spark ran out of memory: give it more (spark.driver.memory,"
    " spark.executor.memory), and start the same run again",
    "UNABLE_TO_ACQUIRE_MEMORY": "what a task of Spark has to sort does not fit into its share of"
    " memory: cut it into more (spark.sql.shuffle.partitions) or give more (spark.driver.memory,"
    " spark.executor.memory), and start the same run again",
    "Permission denied": "a file may not be read or written: see that this user may",
}
_MOST_CHARACTERS = 500
_ONLY_WRAPS = re.compile(r"An error occurred while calling |Traceback |An exception was thrown ")


class UsageError(Exception):
    """A wrong argument, configuration or input path: exit 2, no stack trace."""


class RunFailed(Exception):
    """The arguments were right, the world was not: exit 1, no stack trace."""


def fail(message: str, code: int = 2) -> NoReturn:
    """One line on stderr, and the end."""
    print(f"regroup: {printable(message)}", file=sys.stderr)
    sys.exit(code)


def fail_unforeseen(error: Exception) -> NoReturn:
    """As `fail`, exit 1, by the exception's class and first words.

    With REGROUP_TRACE in the environment its whole trace comes before.
    """
    whole = "".join(traceback.format_exception(error))
    said = f"{type(error).__name__}: {_first_words(str(error))}"
    remedy = next((what for words, what in _REMEDIES.items() if words in whole), None)
    line = f"{remedy} ({said})" if remedy else said
    if TRACE in os.environ:
        print(*map(printable, whole.splitlines()), sep="\n", file=sys.stderr)
        fail(line, code=1)
    fail(f"{line}; {TRACE}=1 shows the whole trace", code=1)


def _first_words(message: str) -> str:
    """The first line that says something; of an error in a Python worker, its last line."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if any(line.startswith("An exception was thrown from the Python worker") for line in lines):
        python_ends = next((n for n, line in enumerate(lines) if line == "JVM stacktrace:"), None)
        lines = lines[:python_ends][-1:]
    telling = (line.removeprefix(": ") for line in lines if not _ONLY_WRAPS.match(line))
    first = next(telling, "no message")
    return first if len(first) <= _MOST_CHARACTERS else f"{first[:_MOST_CHARACTERS]}..."
