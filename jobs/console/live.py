"""On a terminal: what is being worked on, and for how long already, below what is printed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class LiveSteps:
    """A line for each step that runs, gone when it is done.  Steps may run in several threads."""

    def __init__(self, out: TextIO) -> None:
        self._console = Console(file=out, highlight=False, markup=False, emoji=False)
        self._lines = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            redirect_stdout=False,  # what commands answer goes where it is sent
        )
        self._running = 0
        self._lock = threading.Lock()

    @contextmanager
    def shown(self, name: str) -> Iterator[None]:
        """While the block runs."""
        with self._lock:
            self._running += 1
            if self._running == 1:
                self._lines.start()
        line = self._lines.add_task(name, total=None)
        try:
            yield
        finally:
            self._lines.remove_task(line)
            with self._lock:
                self._running -= 1
                if self._running == 0:
                    self._lines.stop()

    def say(self, text: str) -> None:
        """Above the lines of what still runs."""
        self._console.print(text, soft_wrap=True)
