"""group_events: lines about a group in the order in which they were written, each once."""

import pytest

from jobs.group_events import group_events
from jobs.lake.tables import conform


def line(position, ms, text, event="LEFT", **more):
    return {"position": position, "event_time": ms, "line": text, "event": event, **more}


# rule -> lines in any order, then (time, event, state after, generation, member)
CASES = {
    "by position when the clock steps back": (
        [
            line(200, 6000, "c", "ASSIGNMENT_RECEIVED", generation=1),
            line(0, 5000, "a", "REBALANCE_START", generation=0),
            line(100, 4000, "b", "JOIN_COMPLETE", generation=1),
        ],
        [
            (5000, "REBALANCE_START", "PreparingRebalance", 0, None),
            (4000, "JOIN_COMPLETE", "CompletingRebalance", 1, None),
            (6000, "ASSIGNMENT_RECEIVED", "Stable", 1, None),
        ],
    ),
    "by position within a millisecond": (
        [line(300, 10, "b", member_id="b"), line(40, 10, "a", member_id="a")],
        [(10, "LEFT", None, None, "a"), (10, "LEFT", None, None, "b")],
    ),
    "a stretch of log in two files counts once": (
        [
            line(0, 10, "a", member_id="a"),
            line(50, 20, "b", member_id="b"),
            line(900, 20, "b", member_id="b", file_id="rolled"),
            line(950, 30, "c", member_id="c", file_id="rolled"),
        ],
        [
            (10, "LEFT", None, None, "a"),
            (20, "LEFT", None, None, "b"),
            (30, "LEFT", None, None, "c"),
        ],
    ),
    "the same words twice in one millisecond of one file are two events": (
        [line(0, 10, "a"), line(50, 10, "a"), line(900, 10, "a", file_id="rolled")],
        [(10, "LEFT", None, None, None), (10, "LEFT", None, None, None)],
    ),
    "an empty group and a dead one": (
        [line(0, 10, "a", "GROUP_EMPTY", generation=4), line(9, 20, "b", "GROUP_DEAD")],
        [(10, "GROUP_EMPTY", "Empty", 4, None), (20, "GROUP_DEAD", "Dead", None, None)],
    ),
    "the state that a line names, where the event has none of its own": (
        [line(0, 10, "a", "MEMBER_JOIN", state="Stable", member_id="a")],
        [(10, "MEMBER_JOIN", "Stable", None, "a")],
    ),
}  # fmt: skip


def static(position, ms, event, **more):
    return {"file_id": "static"} | line(position, ms, f"{event} {position}", event, **more)


# Lines of static members, some of which name no group.
STATIC_LINES = [
    static(0, 10, "STATIC_NEW", group_id="billing", instance_id="i-1"),
    static(50, 20, "STATIC_NEW", group_id="orders", instance_id="i-2"),
    static(100, 30, "STATIC_REPLACED", group_id="billing", instance_id="i-1"),
    static(150, 30, "STATIC_NO_REBALANCE"),
    static(200, 40, "STATIC_FENCED", instance_id="i-2", member_id="old"),
    static(250, 50, "STATIC_FENCED", instance_id="never heard of"),
]


@pytest.fixture(scope="module")
def events(frame):
    lines = [{"group_id": rule, **row} for rule, (rows, _) in CASES.items() for row in rows]
    lines += STATIC_LINES
    start = {"event": "REBALANCE_START", "event_time": 10}
    lines += [
        line(0, 10, "deleted", "ADMIN_DELETE", groups=["gone-1", "gone-2"]),
        line(50, 10, "loaded", "LOADED", topic_partition="__consumer_offsets-3"),
        {"group_id": "told", "position": 0, "cause": "LEAVE", "reason": "removing x", **start},
        {"group_id": "untold", "position": 0, "cause": "unknown", **start},
        {"group_id": "new words", "position": 0, "cause": "unknown", "reason": "whim", **start},
    ]
    return conform(group_events(frame("broker_log_events", lines)), "group_events").persist()


@pytest.fixture(scope="module")
def by_rule(events, by_group):
    columns = ["event_time", "event", "state", "generation", "member_id"]
    return by_group(events, ["event_seq"], columns)


@pytest.mark.parametrize("rule", CASES)
def test_order(by_rule, rule):
    assert by_rule[rule] == CASES[rule][-1]


def test_a_line_that_names_several_groups_is_an_event_of_each(by_rule):
    assert by_rule["gone-1"] == [(10, "ADMIN_DELETE", "Dead", None, None)]
    assert by_rule["gone-2"] == by_rule["gone-1"]


def test_a_line_about_no_group_is_no_event(by_rule):
    others = {"gone-1", "gone-2", "told", "untold", "new words", "billing", "orders"}
    assert set(by_rule) == {*CASES, *others}


def test_a_fenced_request_is_of_the_group_its_instance_is_in(by_rule):
    assert by_rule["orders"] == [
        (20, "STATIC_NEW", None, None, None),
        (40, "STATIC_FENCED", None, None, "old"),
    ]


def test_a_static_join_without_a_rebalance_is_of_the_group_of_the_line_before(by_rule):
    assert [event for _, event, *_ in by_rule["billing"]] == [
        "STATIC_NEW",
        "STATIC_REPLACED",
        "STATIC_NO_REBALANCE",
    ]


def test_a_start_without_a_reason_has_no_cause_one_in_unknown_words_has(events, by_group):
    causes = by_group(events.where("event = 'REBALANCE_START'"), ["event_seq"], ["cause"])

    assert causes["told"] == [("LEAVE",)]
    assert causes["untold"] == [(None,)]
    assert causes["new words"] == [("UNKNOWN",)]


def test_event_seq_is_a_key(events):
    assert events.select("group_id", "event_seq").distinct().count() == events.count()
