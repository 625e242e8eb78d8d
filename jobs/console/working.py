"""That something is being worked on, for those who wait at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def working(on: str) -> Iterator[None]:
    """While the block runs a terminal shows on what, and for how long; a log gets nothing.

    Nothing may be printed to stdout meanwhile: it may be the same terminal.
    """
    if not sys.stderr.isatty():
        yield
        return
    from jobs.console.live import LiveSteps

    with LiveSteps(sys.stderr).shown(on):
        yield
