"""Progress: one line per step in a log; a terminal also shows the running steps below them."""

import io
import re
import sys
import threading

import pytest

from jobs.console.spinner import spinner
from jobs.nightly_run.pipeline import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def screen(out):
    """The lines that the terminal shows at the end, without the erased ones."""
    lines = [""]
    for code, text in re.findall(r"(\x1b\[\??[0-9;]*[A-Za-z]|\n|\r)|([^\x1b\n\r]+)", out):
        if text:
            lines[-1] += text
        elif code == "\n":
            lines.append("")
        elif code == "\x1b[2K":
            lines[-1] = ""
        elif code == "\x1b[1A":
            lines.pop()
    return [line for line in lines if line]


@pytest.fixture
def out(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return Terminal()


def without_seconds(lines):
    return [re.sub(r"\d+\.\d s$", "N s", line) for line in lines]


def test_a_log_gets_one_line_per_step():
    log = io.StringIO()
    progress = Progress(log)

    progress.step("ingest", lambda: None)
    progress.say("5 groups")

    lines = log.getvalue().splitlines()
    assert without_seconds(lines) == ["ingest                  N s", "5 groups"]
    assert "\x1b" not in log.getvalue()


def test_a_terminal_keeps_the_same_lines(out):
    progress = Progress(out)

    progress.step("ingest", lambda: None)
    progress.step("churn", lambda: None)
    progress.say("[5] groups")

    assert without_seconds(screen(out.getvalue())) == [
        "ingest                  N s",
        "churn                   N s",
        "[5] groups",
    ]


def test_a_terminal_shows_the_running_step_of_each_thread(out):
    progress = Progress(out)
    both = threading.Barrier(3)
    seen = threading.Barrier(3)

    def act():
        both.wait(10)
        seen.wait(10)

    steps = [threading.Thread(target=progress.step, args=[name, act]) for name in ("a", "b")]
    for step in steps:
        step.start()
    both.wait(10)
    progress.say("meanwhile")
    shown = screen(out.getvalue())
    seen.wait(10)
    for step in steps:
        step.join(10)

    assert shown[0] == "meanwhile"
    assert sorted(line.split()[1] for line in shown[1:]) == ["a", "b"]
    assert sorted(without_seconds(screen(out.getvalue()))[1:]) == [
        "a                       N s",
        "b                       N s",
    ]


def test_a_failed_step_is_erased_and_its_error_stored(out):
    progress = Progress(out)

    def act():
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        progress.step("ingest", act)

    assert screen(out.getvalue()) == []
    assert out.getvalue().rfind("\x1b[?25h") > out.getvalue().rfind("\x1b[?25l")  # visible
    assert progress.steps[0].error == "OSError: no room"


def test_working_is_shown_on_a_terminal_and_erased_afterwards(out, monkeypatch):
    monkeypatch.setattr(sys, "stderr", out)
    with spinner("replay"):
        shown = screen(out.getvalue())

    assert shown[0].split()[1:] == ["replay", "0:00:00"]
    assert screen(out.getvalue()) == []


def test_output_during_working_goes_to_stdout(out, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", out)
    with spinner("replay"):
        print("an answer")

    assert capsys.readouterr().out == "an answer\n"
    assert "an answer" not in out.getvalue()


def test_working_writes_nothing_to_a_log(capsys):
    with spinner("replay"):
        pass

    assert capsys.readouterr() == ("", "")
