"""A running command on a terminal: its name and elapsed time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def spinner(label: str) -> Iterator[None]:
    """Show the label and the elapsed time on a terminal while the block runs; nothing in a log.

    The block must not print to stdout, which may be the same terminal.
    """
    if not sys.stderr.isatty():
        yield
        return
    from jobs.console.running_steps import RunningSteps

    with RunningSteps(sys.stderr).shown(label):
        yield
