"""SQL that readers write, in a process whose memory is limited.

DuckDB does not count the texts that a function returns (``repeat('x', 1000000)`` of 2,000 rows) as
its memory.  The operating system ends the process instead, and the server starts the next one.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from jobs.console.errors import UsageError
from jobs.console.printing import jsonable
from jobs.lake.sql import LakeReader
from jobs.report.serve.memory import share_areas

# DuckDB's memory, and its temporary files for larger sorts.
_SETTINGS = {"memory_limit": "100MB", "max_temp_directory_size": "2GB", "threads": "1"}
# address space of the process, most of which its threads reserve and never use
_ADDRESS_SPACE = 2 << 30
# DuckDB, deltalake and Arrow take their number of threads from these variables, or from the number
# of processors.  With 64 processors, the threads alone need more than the address space.
_THREADS = dict.fromkeys(("SLURM_CPUS_ON_NODE", "TOKIO_WORKER_THREADS", "OMP_NUM_THREADS"), "2")
_TOO_MUCH = "the statement needs more memory than is allowed; select fewer rows or shorter texts"


class Limits(NamedTuple):
    """Limits of one statement and its answer.  ``bytes`` have the size of the answer as JSON."""

    rows: int = 1000
    seconds: float = 20
    bytes: int = 10_000_000


DEFAULT_LIMITS = Limits()


class Statements:
    """Runs one statement at a time; the first one waits until the process has started."""

    def __init__(self, root: str, limits: Limits = DEFAULT_LIMITS) -> None:
        self._root, self._limits = root, limits
        self._lock = threading.Lock()
        self._pipe: Connection | None = None

    def rows(self, statement: str, version: int = 1) -> dict[str, Any]:
        """The `SelectedRows` of a statement as JSON has them.  The process opens the lake again
        for another ``version``.  UsageError as of `LakeReader.answer`, and for an answer that is
        too large."""
        with self._lock:
            try:
                self._pipe = self._pipe or _started()
                self._pipe.send((self._root, version, statement, self._limits))
                result = self._pipe.recv()
            except (EOFError, OSError):
                self._pipe = None
                raise UsageError(_TOO_MUCH) from None
        if isinstance(result, Exception):
            raise result
        selected: dict[str, Any] = json.loads(result)
        return selected


def _started() -> Connection:
    # A forked copy of a process with threads can hang.
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    context.Process(target=_run, args=(there,), daemon=True).start()
    # Only the other process has this end open. So `recv` here ends when that process ends.
    there.close()
    return here


def _run(pipe: Connection) -> None:
    """Answer statements until the server ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The server ends this process.
    with suppress(ValueError, OSError):  # Some systems do not have this limit.
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    os.environ |= _THREADS
    share_areas()
    with suppress(EOFError, OSError):  # The server has ended.
        reader, opened = None, None
        while True:
            root, version, statement, limits = pipe.recv()
            if reader is None or opened != (root, version):
                reader, opened = LakeReader(root, _SETTINGS), (root, version)
            pipe.send(_result(reader, statement, limits))


def _result(reader: LakeReader, statement: str, limits: Limits) -> str | Exception:
    try:
        return _answered(reader, statement, limits)
    except MemoryError:
        return UsageError(_TOO_MUCH)
    except Exception as error:
        return error


def _answered(reader: LakeReader, statement: str, limits: Limits) -> str:
    try:
        rows = reader.answer(statement, max_rows=limits.rows, seconds=limits.seconds)
    except UsageError as error:
        if str(error).startswith("Out of Memory"):  # DuckDB's own text would suggest settings.
            raise MemoryError from None
        raise
    text = json.dumps(jsonable(rows._asdict()))
    if len(text) > limits.bytes:
        raise UsageError(
            f"the response has {len(text):,} bytes, the limit is {limits.bytes:,}; select fewer "
            "rows or shorter texts"
        )
    return text
