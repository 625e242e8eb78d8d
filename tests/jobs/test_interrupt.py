"""Ctrl-C: what is told, what comes of it, and that a second one ends everything."""

import logging
import os
import signal
import subprocess
import sys
import threading

import pytest

from jobs.console import interrupt
from jobs.console.interrupt import Interrupted, comes_of_interrupt

CLINGING = """
import time
from jobs.console.interrupt import end_at_once

end_at_once()
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("cleaning up", flush=True)
    time.sleep(60)
"""


def test_the_first_is_told_and_the_second_ends_at_once():
    process = subprocess.Popen(
        [sys.executable, "-c", CLINGING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for said in ("ready\n", "cleaning up\n"):
        assert process.stdout.readline() == said
        process.send_signal(signal.SIGINT)

    assert process.communicate() == ("", "regroup: interrupted\n")
    assert process.returncode == 130


def failing_on_the_way_out():
    try:
        raise Interrupted
    finally:
        raise OSError("the JVM does not answer")


def failing_and_explained():
    try:
        failing_on_the_way_out()
    except OSError as error:
        raise ValueError("no run") from error


@pytest.mark.parametrize("act", [failing_on_the_way_out, failing_and_explained])
def test_what_fails_on_the_way_out_comes_of_the_interrupt(act):
    with pytest.raises((OSError, ValueError)) as raised:
        act()

    assert comes_of_interrupt(raised.value)


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt(), None])
def test_what_does_not(error):
    assert not comes_of_interrupt(error)


@pytest.fixture
def ctrl_c(spark, monkeypatch):
    """Ctrl-C while Spark works, without what it does to the JVM that the other tests need, too."""
    monkeypatch.setattr(interrupt, "_cancel", lambda session: None)
    monkeypatch.setattr(logging, "disable", lambda: None)
    before = signal.getsignal(signal.SIGINT)
    yield lambda: interrupt.end_quietly(spark)
    signal.signal(signal.SIGINT, before)


def interrupted_in_a_call(spark):
    threading.Timer(0.01, os.kill, [os.getpid(), signal.SIGINT]).start()
    spark.sparkContext._jvm.java.lang.Thread.sleep(1000)


def test_after_ctrl_c_in_a_call_the_next_ones_are_answered(spark, ctrl_c):
    """Again and again: what was wrong here once went wrong one time in fifteen."""
    for _ in range(100):
        ctrl_c()
        with pytest.raises(Interrupted):
            interrupted_in_a_call(spark)
        assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
        assert spark.range(3).schema.names == ["id"]
