"""Ctrl-C: one line at once, and an orderly exit, also while Spark runs."""

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

CODE = 130  # as in shells: 128 + the signal's number
WHILE_SPARK_RUNS = (
    "interrupted, cancelling Spark's jobs (Ctrl-C again: exit at once); written tables stay valid, "
    "and the same command computes the rest"
)
_CANCEL_LIMIT_S = 5
_SHOW_CURSOR = b"\x1b[?25h"  # progress hides it


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after its message was printed."""


def follows_interrupt(error: BaseException | None) -> bool:
    """True for an interrupt, and for errors that follow one: calls of py4j fail after it."""
    while error is not None and not isinstance(error, Interrupted):
        error = error.__cause__ or error.__context__
    return error is not None


def handle_ctrl_c() -> None:
    """From now on, Ctrl-C in the main thread prints one line and raises Interrupted."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        _print_once("interrupted")
        raise Interrupted

    signal.signal(signal.SIGINT, end)


def handle_ctrl_c_in_spark(session: SparkSession) -> None:
    """From now on, Ctrl-C also cancels Spark's jobs.

    Replaces PySpark's own handler, after which its parts print many stack traces.
    """
    if threading.current_thread() is not threading.main_thread():
        return  # signals are the main thread's

    def end(number: int, frame: FrameType | None) -> NoReturn:
        _print_once(WHILE_SPARK_RUNS)
        logging.disable()  # py4j logs the call that is abandoned here
        # This thread may be in a call to the JVM; another thread has its own connection.
        canceller = threading.Thread(target=_cancel, args=[session], daemon=True)
        canceller.start()
        canceller.join(_CANCEL_LIMIT_S)
        _leave_call(session)
        raise Interrupted

    signal.signal(signal.SIGINT, end)


def _print_once(message: str) -> None:
    # A second Ctrl-C prints nothing and exits: Spark cannot cancel a query while planning it.
    signal.signal(signal.SIGINT, _exit_now)
    print(f"regroup: {message}", file=sys.stderr, flush=True)


def _exit_now(number: int, frame: FrameType | None) -> NoReturn:
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR)
    os._exit(CODE)


def _leave_call(session: SparkSession) -> None:
    """Close this thread's connection, so that the next call, such as recording the run, opens a new
    one.  Otherwise py4j sometimes fails that next call, too."""
    gateway = session.sparkContext._gateway
    if gateway is not None and (abandoned := gateway._gateway_client.get_thread_connection()):
        abandoned.close()


def _cancel(session: SparkSession) -> None:
    context = session.sparkContext
    with suppress(Exception):  # the JVM may have exited
        # Drop the stack traces of Python workers, whose stderr goes through the JVM's.
        context._jvm.java.lang.System.err.close()  # type: ignore[union-attr]
        context.cancelAllJobs()
