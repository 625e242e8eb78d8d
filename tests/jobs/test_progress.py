"""Progress: plain lines for a log, and on a terminal what runs just now below them."""

import io
import re
import sys
import threading

import pytest

from jobs.console.working import working
from jobs.nightly_run.pipeline import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def screen(out):
    """What a terminal shows in the end: lines, with those that were erased taken away."""
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


def seconds_away(lines):
    return [re.sub(r"\d+\.\d s$", "N s", line) for line in lines]


def test_a_log_gets_a_line_a_step():
    log = io.StringIO()
    progress = Progress(log)

    progress.step("ingest", lambda: None)
    progress.say("5 groups")

    assert seconds_away(log.getvalue().splitlines()) == ["ingest                  N s", "5 groups"]
    assert "\x1b" not in log.getvalue()


def test_a_terminal_keeps_the_same_lines(out):
    progress = Progress(out)

    progress.step("ingest", lambda: None)
    progress.step("churn", lambda: None)
    progress.say("[5] groups")

    assert seconds_away(screen(out.getvalue())) == [
        "ingest                  N s",
        "churn                   N s",
        "[5] groups",
    ]


def test_a_terminal_shows_what_runs_in_both_threads(out):
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
    assert sorted(seconds_away(screen(out.getvalue()))[1:]) == [
        "a                       N s",
        "b                       N s",
    ]


def test_a_step_that_fails_leaves_nothing_behind(out):
    progress = Progress(out)

    def act():
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        progress.step("ingest", act)

    assert screen(out.getvalue()) == []
    assert out.getvalue().rfind("\x1b[?25h") > out.getvalue().rfind("\x1b[?25l")  # a cursor again
    assert progress.steps[0].error == "OSError: no room"


def test_working_is_shown_on_a_terminal_and_gone_afterwards(out, monkeypatch):
    monkeypatch.setattr(sys, "stderr", out)
    with working("replay"):
        shown = screen(out.getvalue())

    assert shown[0].split()[1:] == ["replay", "0:00:00"]
    assert screen(out.getvalue()) == []


def test_what_is_answered_meanwhile_stays_on_stdout(out, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", out)
    with working("replay"):
        print("an answer")

    assert capsys.readouterr().out == "an answer\n"
    assert "an answer" not in out.getvalue()


def test_a_log_gets_nothing_of_working(capsys):
    with working("replay"):
        pass

    assert capsys.readouterr() == ("", "")
