"""Pauses in a log before a line: they show that a process did not run."""

from jobs.sources.logs.pauses import pause_before

FAILURE = b"2025-03-01 10:02:00,000 INFO heartbeat failed"


def log(*seconds):
    return b"".join(
        f"2025-03-01 10:{int(second) // 60:02d}:{second % 60:06.3f} INFO handled\n".encode()
        for second in seconds
    )


def pause(text):
    return pause_before(text, len(text), FAILURE, None)


def test_a_pause_among_lines_that_are_close_together():
    assert pause(log(*range(60), 119.5)) == 60_500


def test_lines_without_such_a_pause():
    assert pause(log(*range(60, 120))) is None


def test_a_log_with_few_lines_shows_no_pause():
    assert pause(log(1, 2, 3)) is None


def test_a_pause_like_the_others_is_none():
    assert pause(log(*range(0, 100, 9), 110)) is None


def test_a_pause_long_before_the_line_is_another_one():
    assert pause(log(*range(10), *range(40, 120))) is None
