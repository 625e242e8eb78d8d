"""Ctrl-C: one line at once, and an orderly end, also while Spark works."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CODE = 130  # as shells have it: 128 and the signal's number
WHILE_SPARK_WORKS = (
    "interrupted, coming to an end (Ctrl-C again: at once); what is written stays right, and the "
    "same command again works out the rest"
)
_ANSWER_LIMIT_S = 5
_SHOW_CURSOR = b"\x1b[?25h"  # progress hides it


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, and whoever pressed it has been told."""


def comes_of_interrupt(error: BaseException | None) -> bool:
    """Whether it is one, or came up while one was on its way out: py4j's calls fail after it."""
    while error is not None and not isinstance(error, Interrupted):
        error = error.__cause__ or error.__context__
    return error is not None


def end_at_once() -> None:
    """What Ctrl-C does from here on, in the main thread."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        _tell("interrupted")
        raise Interrupted

    signal.signal(signal.SIGINT, end)


def end_quietly(session: SparkSession) -> None:
    """What Ctrl-C does from here on, in the place of PySpark's own way to end on it, with which
    its parts die noisily."""
    if threading.current_thread() is not threading.main_thread():
        return  # signals are the main thread's

    def end(number: int, frame: FrameType | None) -> NoReturn:
        _tell(WHILE_SPARK_WORKS)
        logging.disable()  # py4j logs the call that is given up here
        # This thread may be in the middle of a call to the JVM; another one can make another call.
        canceller = threading.Thread(target=_cancel, args=[session], daemon=True)
        canceller.start()
        canceller.join(_ANSWER_LIMIT_S)
        _leave_call(session)
        raise Interrupted

    signal.signal(signal.SIGINT, end)


def _tell(what: str) -> None:
    # The second time without a word: plans that Spark is making cannot be cancelled.
    signal.signal(signal.SIGINT, _end_now)
    print(f"regroup: {what}", file=sys.stderr, flush=True)


def _end_now(number: int, frame: FrameType | None) -> NoReturn:
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR)
    os._exit(CODE)


def _leave_call(session: SparkSession) -> None:
    """This thread's next call to the JVM, such as the one that records the run, gets a connection
    of its own: py4j's way to give one up now and then takes the connection after it along."""
    gateway = session.sparkContext._gateway
    if gateway is not None and (left := gateway._gateway_client.get_thread_connection()):
        left.close()


def _cancel(session: SparkSession) -> None:
    context = session.sparkContext
    with suppress(Exception):  # the JVM may be gone already
        # Python workers' stderr comes through the JVM's; what is printed there is dropped now.
        context._jvm.java.lang.System.err.close()  # type: ignore[union-attr]
        context.cancelAllJobs()
