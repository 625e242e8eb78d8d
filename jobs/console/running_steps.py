"""Running steps on a terminal: their names and elapsed times, below the printed lines."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class RunningSteps:
    """One line per running step, erased when the step ends.  Steps may run in several threads."""

    def __init__(self, out: TextIO) -> None:
        self._console = Console(file=out, highlight=False, markup=False, emoji=False)
        self._lines = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            redirect_stdout=False,  # Answers go to stdout only.
        )
        self._running = 0
        self._lock = threading.Lock()

    @contextmanager
    def shown(self, name: str) -> Iterator[None]:
        """Show a line while the block runs."""
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
        """Print above the lines of running steps."""
        self._console.print(text, soft_wrap=True)
