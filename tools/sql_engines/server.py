"""A server on loopback that runs while its answers are read."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

START_SECONDS = 1800


@contextmanager
def running(
    command: list[str], log: Path, environment: Mapping[str, str], is_ready: Callable[[str], bool]
) -> Iterator[None]:
    """Start the command, wait until its log shows that it is ready, and stop it at exit."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=log.parent)
    try:
        until = time.monotonic() + START_SECONDS
        while not is_ready(log.read_text("utf-8", "replace")):
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"{log}: the server did not start")
            time.sleep(0.5)
        yield
    finally:
        process.terminate()
        process.wait()
