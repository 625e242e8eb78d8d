"""Run tasks in forked processes; results come in the order of the tasks.

A worker inherits the parent's memory, so tasks can be small and the parent never waits to send one.
A worker writes its results to a pipe and blocks until the parent reads them, so few results are
held. When the parent ends, its pipes are closed, which ends the workers.
"""

from __future__ import annotations

import os
import pickle
import signal
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from itertools import cycle
from multiprocessing import get_context
from typing import Any, BinaryIO

from jobs.console.errors import RunFailed

TASKS = 2  # maximum number of tasks per worker: the current task and the next task
# maximum bytes per write: texts are often short, and longer writes cost page faults
WRITE_BYTES = 1 << 16
SIZE_SIZE = 8

Work = Callable[[Any], Iterable[bytes | memoryview]]


def in_workers(work: Work, tasks: Iterable[Any], count: int) -> Generator[bytes, None, None]:
    """The results of ``work`` for each of ``tasks`` in their order, by ``count`` workers.

    Raises the exceptions of ``work``, and RunFailed if a worker is killed. Closing the generator
    ends the workers.
    """
    workers = _forked(work, count)
    try:
        busy: deque[_Worker] = deque()
        for worker, task in zip(cycle(workers), tasks, strict=False):
            if len(busy) == TASKS * count:
                yield from busy.popleft().results()
            worker.send(task)
            busy.append(worker)
        for worker in busy:
            yield from worker.results()
    finally:
        for worker in workers:
            worker.end()


def _forked(work: Work, count: int) -> list[_Worker]:
    workers: list[_Worker] = []
    # A terminal sends Ctrl-C to all its processes; only the parent handles it.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for _ in range(count):
            workers.append(_Worker(work, workers))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return workers


class _Worker:
    """The parent's side of a worker process."""

    def __init__(self, work: Work, earlier: list[_Worker]) -> None:
        tasks, self._tasks = _pipe()
        self._results, results = _pipe()
        inherited = [
            pipe for worker in (*earlier, self) for pipe in (worker._tasks, worker._results)
        ]
        self._process = get_context("fork").Process(
            target=_serve, args=(work, tasks, results, inherited), daemon=True
        )
        self._process.start()
        tasks.close()
        results.close()

    def send(self, task: Any) -> None:
        with suppress(BrokenPipeError):  # The worker has ended, which `results` reports.
            pickle.dump(task, self._tasks)
            self._tasks.flush()

    def results(self) -> Iterator[bytes]:
        while size := int.from_bytes(self._received(SIZE_SIZE)):
            yield self._received(size)
        size = int.from_bytes(self._received(SIZE_SIZE))
        # The bytes are from a worker of this process.
        if failure := pickle.loads(self._received(size)):  # noqa: S301
            raise failure

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._results.close()
        with suppress(BrokenPipeError):  # This end of the pipe belongs to a task that was not sent.
            self._tasks.close()

    def _received(self, size: int) -> bytes:
        data = self._results.read(size)
        if len(data) < size:
            self._process.join()
            raise RunFailed(
                f"a worker process was killed (exit code {self._process.exitcode}), so the output"
                " is incomplete; run decode again, with more memory if memory ran out"
            )
        return data


def _pipe() -> tuple[BinaryIO, BinaryIO]:
    reader, writer = os.pipe()
    return open(reader, "rb"), open(writer, "wb")


def _serve(work: Work, tasks: BinaryIO, results: BinaryIO, inherited: list[BinaryIO]) -> None:
    for pipe in inherited:  # Without this, these ends would stay open after the parent ends.
        pipe.close()
    with suppress(EOFError, BrokenPipeError):  # The parent has ended.
        while True:
            _run(work, pickle.load(tasks), results)  # noqa: S301  # data of this process's parent
    os._exit(0)  # Exit without flushing buffers that were inherited from the parent.


def _run(work: Work, task: Any, results: BinaryIO) -> None:
    failure = None
    try:
        for data in _joined(work(task)):
            _write(data, results)
    except BrokenPipeError:
        raise
    except Exception as error:
        error.add_note(traceback.format_exc())  # Tracebacks cannot be pickled.
        failure = error
    _write(b"", results)
    _write(pickle.dumps(failure), results)
    results.flush()


def _write(data: bytes, results: BinaryIO) -> None:
    results.write(len(data).to_bytes(SIZE_SIZE))
    results.write(data)


def _joined(texts: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """The same bytes in chunks of about WRITE_BYTES, none empty."""
    held: list[bytes | memoryview] = []
    size = 0
    for text in texts:
        held.append(text)
        size += len(text)
        if size >= WRITE_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if size:
        yield b"".join(held)
