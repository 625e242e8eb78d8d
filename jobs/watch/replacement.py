"""Replaces the process of `regroup watch` between two passes, because its engine keeps memory.

The new program has the process id, arguments, environment and standard streams of the old one. The
new process reads the state of the loop from an inherited temporary file without a name.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MIB = 1 << 20
# Environment variable with the descriptor of the file of the state.
STATE = "REGROUP_WATCH_STATE"
_SIGNALS = {signal.SIGINT, signal.SIGTERM}


def resident_mib() -> float | None:
    """Resident memory of this process, or None if the system has no /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / MIB


def replace_process(state: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    """Start this program again with ``state``, and with the environment that it started with.

    Raises OSError, or does not return.  The new program gets signals after `receive_signals`.
    """
    with tempfile.TemporaryFile() as file:
        pickle.dump(state, file)
        file.flush()
        os.set_inheritable(file.fileno(), True)
        os.set_blocking(file.fileno(), False)
        sys.stdout.flush()
        os.dup2(sys.stderr.fileno(), 2)  # `silence` has redirected descriptor 2
        # The mask is of this thread. Python's handler runs in any other thread of an engine, and
        # appends the signal's number to the file.
        signal.set_wakeup_fd(file.fileno(), warn_on_full_buffer=False)
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            os.execve(
                sys.executable,
                [sys.executable, *sys.orig_argv[1:]],
                {**environment, STATE: str(file.fileno())},
            )
        finally:
            signal.set_wakeup_fd(-1)
            receive_signals()


def receive_signals() -> None:
    """End the blocking of signals by `replace_process`; a signal that came meanwhile arrives."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def state_before() -> dict[str, Any]:
    """The state that `replace_process` passed to this program; empty after another start.

    Raises again the signals that the previous program received at its end; they are blocked.
    """
    descriptor = os.environ.pop(STATE, None)
    if descriptor is None:
        return {}
    with open(int(descriptor), "rb") as file:
        file.seek(0)
        # The bytes are from this process.
        state: dict[str, Any] = pickle.load(file)  # noqa: S301
        for number in file.read():
            signal.raise_signal(number)
    return state
