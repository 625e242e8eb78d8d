"""A statement of an episode is true if the script did what it says."""

import json

import pytest

from tools.calibration.script import actions_of
from tools.calibration.statements import Statement, can_be_judged, is_true

T = 1_795_219_200_000
# Each row: seconds, action, process, further fields.
SCRIPT = [
    (0, "start", "a", {}),
    (0, "start", "b", {"conf": {"group.instance.id": "pod-b"}}),
    (30, "stop", "a", {}),
    (35, "start", "a", {}),
    (60, "kill", "b", {}),
    (120, "slow", "a", {"seconds": 40}),
    (240, "start", "c", {}),
    (300, "stop", "c", {}),
    (400, "freeze", "a", {}),
]


@pytest.fixture(scope="module")
def script():
    lines = [
        json.dumps({"wall_ms": T + 1000 * at, "action": what, "process": who, "group": "g"} | more)
        for at, what, who, more in SCRIPT
    ]
    grown = {"wall_ms": T + 500_000, "action": "partitions added", "topic": "t", "partitions": 16}
    return list(actions_of([*lines, json.dumps(grown)]))


@pytest.mark.parametrize(
    ("kind", "at", "processes", "expected"),
    [
        ("group_start", 0, ["a", "b"], True),
        ("group_start", 150, ["a", "b"], False),
        ("restart", 30, ["a"], True),
        ("restart", 60, ["pod-b"], False),  # The process did not come back.
        ("process_lost", 60, ["pod-b"], True),
        ("process_lost", 60, ["a"], False),
        # This is the end of its session of 20 s, not shifted by the session.
        ("shutdown", 323, ["c"], True),
        ("shutdown", 325, ["c"], False),
        ("slow_poll", 160, ["a"], True),  # The evidence comes when the handler is done.
        ("slow_poll", 240, ["a"], False),
        ("scale_out", 240, ["c"], True),
        ("scale_out", 35, ["a"], False),  # The process was there before.
        ("scale_in", 300, ["c"], True),
        ("scale_in", 30, ["a"], False),  # it came back
        ("process_frozen", 400, ["a"], True),
        ("process_frozen", 300, ["c"], False),
        ("topic_change", 500, [], True),
        ("topic_change", 400, [], False),
    ],
)
def test_statements(script, kind, at, processes, expected):
    ms = T + 1000 * at
    statement = Statement("g", kind, ms, ms + 1000, processes, 0.9, "summary")

    assert is_true(statement, script) is expected


def test_a_killed_process_was_not_stopped(script):
    expired, killed = (
        Statement("g", "process_lost", T + 300_000, T + 310_000, ["c"], 0.7, summary)
        for summary in ("session of c expired", "c killed")
    )

    assert (is_true(expired, script), is_true(killed, script)) == (True, False)


def test_a_script_says_nothing_about_other_groups(script):
    assert not is_true(Statement("other", "group_start", T, T, ["a"], 0.9, "summary"), script)


@pytest.mark.parametrize(
    ("process", "expected"),
    [
        ("a", True),
        ("a-0f6f9c3e", True),
        ("pod-b", True),
        ("app-c", True),
        ("DZkfCKjISHCGSP91", False),
    ],
)
def test_a_member_that_the_script_does_not_know_is_not_judged(script, process, expected):
    statement = Statement("g", "scale_in", T, T, [process], 0.9, "summary")

    assert can_be_judged(statement, script) is expected
