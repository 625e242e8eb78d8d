"""Ctrl-C: the message, the errors that follow it, and the exit on a second one."""

import logging
import os
import signal
import subprocess
import sys
import threading

import pytest

from jobs.console import interrupt
from jobs.console.interrupt import Interrupted, follows_interrupt
from tests.engines import spark_only

SLOW_CLEANUP = """
import time
from jobs.console.interrupt import handle_ctrl_c

handle_ctrl_c()
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("cleaning up", flush=True)
    time.sleep(60)
"""


def test_the_first_prints_a_line_and_the_second_exits_at_once():
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_CLEANUP],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in ("ready\n", "cleaning up\n"):
        assert process.stdout.readline() == line
        process.send_signal(signal.SIGINT)

    assert process.communicate() == ("", "regroup: interrupted\n")
    assert process.returncode == 130


def failing_during_cleanup():
    try:
        raise Interrupted
    finally:
        raise OSError("the JVM does not answer")


def failing_with_a_cause():
    try:
        failing_during_cleanup()
    except OSError as error:
        raise ValueError("no run") from error


@pytest.mark.parametrize("act", [failing_during_cleanup, failing_with_a_cause])
def test_an_error_during_cleanup_follows_the_interrupt(act):
    with pytest.raises((OSError, ValueError)) as raised:
        act()

    assert follows_interrupt(raised.value)


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt(), None])
def test_other_errors_do_not_follow_an_interrupt(error):
    assert not follows_interrupt(error)


@pytest.fixture
def ctrl_c(spark, monkeypatch):
    """Install the handler for Ctrl-C in Spark, without its effects on the JVM of other tests."""
    monkeypatch.setattr(interrupt, "_cancel", lambda session: None)
    monkeypatch.setattr(logging, "disable", lambda: None)
    before = signal.getsignal(signal.SIGINT)
    yield lambda: interrupt.handle_ctrl_c_in_spark(spark)
    signal.signal(signal.SIGINT, before)


def interrupted_in_a_call(spark):
    threading.Timer(0.01, os.kill, [os.getpid(), signal.SIGINT]).start()
    spark.sparkContext._jvm.java.lang.Thread.sleep(1000)


@spark_only("calls of the JVM")
def test_after_ctrl_c_in_a_call_the_next_calls_succeed(spark, ctrl_c):
    """Runs 100 times: a former bug occurred once in 15 times."""
    for _ in range(100):
        ctrl_c()
        with pytest.raises(Interrupted):
            interrupted_in_a_call(spark)
        assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
        assert spark.range(3).schema.names == ["id"]
