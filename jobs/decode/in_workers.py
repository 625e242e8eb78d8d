"""Work shared out to forked processes; what they make of it comes in the order of the work.

A worker has all that the parent had when it was forked, so tasks can be small, and the parent never
waits to hand one over. What a worker has made it says over a pipe, at which it waits until the
parent gets there: no more than that is held. However the parent ends, its ends of the pipes are
closed by that, and a worker with nobody to answer to ends, too.
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

TASKS = 2  # of a worker at a time: what it is at, and what it goes on with at once
SAID_AT_ONCE = 1 << 16  # bytes: many a text has a hundred, and longer ones cost page faults
SIZE_SIZE = 8

Work = Callable[[Any], Iterable[bytes | memoryview]]


def in_workers(work: Work, tasks: Iterable[Any], count: int) -> Generator[bytes, None, None]:
    """What ``work`` makes of each of ``tasks``, in their order, by so many workers.

    Raises what ``work`` raises, and RunFailed when a worker is killed. To be closed where it is not
    read to its end, which ends the workers.
    """
    workers = _forked(work, count)
    try:
        asked: deque[_Worker] = deque()
        for worker, task in zip(cycle(workers), tasks, strict=False):
            if len(asked) == TASKS * count:
                yield from asked.popleft().answer()
            worker.ask(task)
            asked.append(worker)
        for worker in asked:
            yield from worker.answer()
    finally:
        for worker in workers:
            worker.end()


def _forked(work: Work, count: int) -> list[_Worker]:
    workers: list[_Worker] = []
    # A terminal sends Ctrl-C to all of its processes: workers leave it to the parent for good.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for _ in range(count):
            workers.append(_Worker(work, workers))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return workers


class _Worker:
    """The parent's side of one."""

    def __init__(self, work: Work, before: list[_Worker]) -> None:
        tasks, self._tasks = _pipe()
        self._answers, answers = _pipe()
        ours = [pipe for worker in (*before, self) for pipe in (worker._tasks, worker._answers)]
        self._process = get_context("fork").Process(
            target=_serve, args=(work, tasks, answers, ours), daemon=True
        )
        self._process.start()
        tasks.close()
        answers.close()

    def ask(self, task: Any) -> None:
        with suppress(BrokenPipeError):  # it is gone, as will be seen when its answers are due
            pickle.dump(task, self._tasks)
            self._tasks.flush()

    def answer(self) -> Iterator[bytes]:
        while size := int.from_bytes(self._received(SIZE_SIZE)):
            yield self._received(size)
        if failure := pickle.loads(self._received(int.from_bytes(self._received(SIZE_SIZE)))):
            raise failure

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._answers.close()
        with suppress(BrokenPipeError):  # of a task that never left
            self._tasks.close()

    def _received(self, size: int) -> bytes:
        data = self._answers.read(size)
        if len(data) < size:
            self._process.join()
            raise RunFailed(
                f"a worker process was killed (exit code {self._process.exitcode}), and what came "
                "out is not all; run it again, with more memory if that ran out"
            )
        return data


def _pipe() -> tuple[BinaryIO, BinaryIO]:
    reader, writer = os.pipe()
    return open(reader, "rb"), open(writer, "wb")


def _serve(work: Work, tasks: BinaryIO, answers: BinaryIO, inherited: list[BinaryIO]) -> None:
    for pipe in inherited:  # else they would stay open when the parent is gone
        pipe.close()
    with suppress(EOFError, BrokenPipeError):  # the parent is gone
        while True:
            _answer(work, pickle.load(tasks), answers)
    os._exit(0)  # the parent's buffers and clean-ups are its own


def _answer(work: Work, task: Any, answers: BinaryIO) -> None:
    failure = None
    try:
        for made in _joined(work(task)):
            _say(made, answers)
    except BrokenPipeError:
        raise
    except Exception as error:
        error.add_note(traceback.format_exc())  # a trace does not travel
        failure = error
    _say(b"", answers)
    _say(pickle.dumps(failure), answers)
    answers.flush()


def _say(data: bytes, answers: BinaryIO) -> None:
    answers.write(len(data).to_bytes(SIZE_SIZE))
    answers.write(data)


def _joined(texts: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """The same in long pieces, none of them empty."""
    held: list[bytes | memoryview] = []
    size = 0
    for text in texts:
        held.append(text)
        size += len(text)
        if size >= SAID_AT_ONCE:
            yield b"".join(held)
            held, size = [], 0
    if size:
        yield b"".join(held)
