"""Ctrl-C: one line at once, and an orderly exit, also while an engine runs."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CODE = 130  # exit code as in shells: 128 + the signal's number
WHILE_JOBS_RUN = (
    "interrupted, cancelling jobs (Ctrl-C again: exit at once); written tables stay valid, "
    "and the same command computes the rest"
)
_CANCEL_LIMIT_S = 5
_SHOW_CURSOR = b"\x1b[?25h"  # progress hides it


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after its message was printed."""


class Terminated(Interrupted):
    """SIGTERM, after its message was printed."""


def follows_interrupt(error: BaseException | None) -> bool:
    """Returns True for an interrupt, and for errors that follow an interrupt, after which calls of
    py4j fail.
    """
    return interrupt_before(error) is not None


def interrupt_before(error: BaseException | None) -> Interrupted | None:
    """The interrupt that an error follows, or is, or None for other errors."""
    while error is not None and not isinstance(error, Interrupted):
        error = error.__cause__ or error.__context__
    return error


def handle_ctrl_c() -> None:
    """From now on, Ctrl-C in the main thread prints one line and raises Interrupted."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        _print_once("interrupted")
        raise _error_of(number)

    signal.signal(signal.SIGINT, end)


def handle_sigterm() -> None:
    """From now on, SIGTERM has the effect of Ctrl-C, but raises Terminated.

    Call it again when the handler of Ctrl-C changes, as it does with an engine's session.
    """
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))


def handle_ctrl_c_in_spark(session: SparkSession) -> None:
    """From now on, Ctrl-C also cancels Spark's jobs.

    Replaces PySpark's own handler, after which its parts print many stack traces.
    """

    def leave() -> None:
        logging.disable()  # py4j would log the call that is abandoned here.
        _in_thread(lambda: _cancel(session))
        _leave_call(session)

    _handle(leave)


def handle_ctrl_c_in_embedded(session: SparkSession, reconnect: Callable[[], None]) -> None:
    """From now on, Ctrl-C also cancels the embedded engine's queries.

    Replaces the engine's own handler, which stops its server.  ``reconnect`` lets the session make
    calls after one that was abandoned.
    """

    def leave() -> None:
        reconnect()
        _in_thread(session.interruptAll)

    _handle(leave)


def _handle(leave: Callable[[], None]) -> None:
    """On Ctrl-C, print a line, call ``leave`` and raise Interrupted."""
    if threading.current_thread() is not threading.main_thread():
        return  # Only the main thread receives signals.

    def end(number: int, frame: FrameType | None) -> NoReturn:
        _print_once(WHILE_JOBS_RUN)
        leave()
        raise _error_of(number)

    signal.signal(signal.SIGINT, end)


def _in_thread(cancel: Callable[[], object]) -> None:
    """The main thread may be in a call of the engine; another thread has its own connection."""
    canceller = threading.Thread(target=cancel, daemon=True)
    canceller.start()
    canceller.join(_CANCEL_LIMIT_S)


def _error_of(number: int) -> Interrupted:
    return Terminated() if number == signal.SIGTERM else Interrupted()


def _print_once(message: str) -> None:
    # A second signal prints nothing and exits: Spark cannot cancel a query while planning it.
    signal.signal(signal.SIGINT, _exit_now)
    signal.signal(signal.SIGTERM, _exit_now)
    line = f"regroup: {message}\n"
    try:
        print(line, end="", file=sys.stderr, flush=True)
    except RuntimeError:  # The signal arrived while this thread wrote to stderr.
        os.write(sys.stderr.fileno(), line.encode())


def _exit_now(number: int, frame: FrameType | None) -> NoReturn:
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR)
    os._exit(CODE)


def _leave_call(session: SparkSession) -> None:
    """Close this thread's connection, so that the next call, such as recording the run, opens a new
    connection.  Otherwise py4j sometimes fails that next call, too.
    """
    gateway = session.sparkContext._gateway
    if gateway is not None and (abandoned := gateway._gateway_client.get_thread_connection()):
        abandoned.close()


def _cancel(session: SparkSession) -> None:
    context = session.sparkContext
    with suppress(Exception):  # The JVM may have exited.
        # This hides the stack traces of Python workers, whose stderr goes through the JVM's.
        context._jvm.java.lang.System.err.close()  # type: ignore[union-attr]
        context.cancelAllJobs()
