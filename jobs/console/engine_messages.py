"""Keeps messages that an engine's native code writes to file descriptor 2 away from stderr.

A full disk or an interrupt makes Rust and gRPC print stack traces; Python gets an error, too, which
becomes one line.
"""

from __future__ import annotations

import os
import sys

from jobs.console.errors import TRACE

_STDERR = 2
_is_separate = False


def separate_stderr() -> None:
    """Give sys.stderr a file descriptor of its own, so that `silence` does not affect it."""
    global _is_separate
    stream = sys.stderr
    # The stream is the output of a test or of another program.
    if stream is not sys.__stderr__ or stream is None:
        return
    stream.flush()
    sys.stderr = open(  # noqa: SIM115  # open as long as the process
        os.dup(_STDERR), "w", buffering=1, encoding=stream.encoding, errors="backslashreplace"
    )
    _is_separate = True


def silence() -> None:
    """Drop what is written to descriptor 2.

    Does nothing before `separate_stderr`, or with REGROUP_TRACE.
    """
    if _is_separate and TRACE not in os.environ:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, _STDERR)
        os.close(nowhere)
