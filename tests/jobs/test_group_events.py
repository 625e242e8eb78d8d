"""group_events: the lines about a group in the order of the log, each once."""

import pytest

from jobs.group_events import group_events
from jobs.lake.tables import conform
from tests.jobs.comparison import assert_rows


def line(position, ms, text, event="LEFT", **more):
    return {"position": position, "event_time": ms, "line": text, "event": event, **more}


# rule -> lines in any order, and (time, event, state after, generation, member)
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
    "a part of a log in two files counts once": (
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
    "the same text twice in one millisecond of one file is two events": (
        [line(0, 10, "a"), line(50, 10, "a"), line(900, 10, "a", file_id="rolled")],
        [(10, "LEFT", None, None, None), (10, "LEFT", None, None, None)],
    ),
    "the state after GROUP_EMPTY and GROUP_DEAD": (
        [line(0, 10, "a", "GROUP_EMPTY", generation=4), line(9, 20, "b", "GROUP_DEAD")],
        [(10, "GROUP_EMPTY", "Empty", 4, None), (20, "GROUP_DEAD", "Dead", None, None)],
    ),
    "the state that the line names, if the event does not determine it": (
        [line(0, 10, "a", "MEMBER_JOIN", state="Stable", member_id="a")],
        [(10, "MEMBER_JOIN", "Stable", None, "a")],
    ),
}  # fmt: skip


# text of a line -> event, number of the epoch, type of the group
MODERN = [
    ("[GroupId g] Bumped group epoch to 7 with metadata hash 1.", "EPOCH_BUMP", 7, None),
    ("[GroupId g][MemberId m] Bumped streams group epoch to 3 with metadata hash 1.",
     "EPOCH_BUMP", 3, "streams"),
    ("[GroupId g] Computed a new target assignment for epoch 7 with 'uniform' assignor in 1ms.",
     "TARGET", 7, "consumer"),
    ("[GroupId g] Computed a new target assignment for epoch 2 with "
     "'org.apache.kafka.coordinator.group.assignor.SimpleAssignor@1f' assignor in 1ms.",
     "TARGET", 2, "share"),
    ("[GroupId g] Member m joins the share group using the share protocol.",
     "MEMBER_JOIN", None, "share"),
    ("[GroupId g] Member m joins the consumer group using the classic protocol.",
     "MEMBER_JOIN", None, "consumer"),
    ("[GroupId g] Streams member m fenced from the group because the member session expired..",
     "FENCED", None, "streams"),
    ("[GroupId g] Member m fenced from the group because the member session expired.",
     "FENCED", None, None),
    ("[GroupId g] Converted the consumer group to a classic group.", "CONVERT", None, "classic"),
    ("[GroupId g] Converted the empty classic group to a consumer group.",
     "CONVERT", None, "consumer"),
    ("Pending dynamic member with id m joins group g in Empty state. Adding to the group now.",
     "MEMBER_JOIN", None, None),
]  # fmt: skip


def test_lines_of_modern_groups_have_epoch_and_type(frame):
    lines = [line(n, n, text, event, group_id="g") for n, (text, event, *_) in enumerate(MODERN)]

    rows = conform(group_events(frame("broker_log_events", lines)), "group_events")

    of_lines = [(row.epoch, row.group_type) for row in rows.orderBy("event_seq").collect()]
    assert of_lines == [(epoch, group_type) for _, _, epoch, group_type in MODERN]


def static(position, ms, event, **more):
    return {"file_id": "static"} | line(position, ms, f"{event} {position}", event, **more)


# Lines of static members, some of which do not name a group.
STATIC_LINES = [
    static(0, 10, "STATIC_NEW", group_id="billing", instance_id="i-1"),
    static(50, 20, "STATIC_NEW", group_id="orders", instance_id="i-2"),
    static(100, 30, "STATIC_REPLACED", group_id="billing", instance_id="i-1"),
    static(150, 30, "STATIC_NO_REBALANCE"),
    static(200, 40, "STATIC_FENCED", instance_id="i-2", member_id="old"),
    static(250, 50, "STATIC_FENCED", instance_id="unknown"),
    static(300, 60, "STATIC_NEW", group_id="billing", instance_id="i-1"),
    # Kafka 2.3 and 2.4 log lines in this form.
    static(350, 70, "STATIC_REPLACED", instance_id="i-2", member_id="new"),
    static(400, 70, "STATIC_NO_REBALANCE"),
]


@pytest.fixture(scope="module")
def events(frame):
    lines = [{"group_id": rule, **row} for rule, (rows, _) in CASES.items() for row in rows]
    lines += STATIC_LINES
    start = {"event": "REBALANCE_START", "event_time": 10}
    lines += [
        line(0, 10, "deleted", "ADMIN_DELETE", groups=["gone-1", "gone-2"]),
        line(50, 10, "loaded", "LOADED", topic_partition="__consumer_offsets-3"),
        {
            "group_id": "known reason",
            "position": 0,
            "cause": "LEAVE",
            "reason": "removing x",
            **start,
        },
        {"group_id": "no reason", "position": 0, "cause": "unknown", **start},
        {
            "group_id": "unknown reason",
            "position": 0,
            "cause": "unknown",
            "reason": "whim",
            **start,
        },
    ]
    return conform(group_events(frame("broker_log_events", lines)), "group_events").persist()


@pytest.fixture(scope="module")
def by_rule(events, by_group):
    columns = ["event_time", "event", "state", "generation", "member_id"]
    return by_group(events, ["event_seq"], columns)


@pytest.mark.parametrize("rule", CASES)
def test_order(by_rule, rule):
    assert_rows(by_rule[rule], CASES[rule][-1])


def test_a_line_that_names_several_groups_is_an_event_of_each(by_rule):
    for group in ("gone-1", "gone-2"):
        assert_rows(by_rule[group], [(10, "ADMIN_DELETE", "Dead", None, None)])


def test_a_line_without_a_group_is_no_event(by_rule):
    others = {
        "gone-1",
        "gone-2",
        "known reason",
        "no reason",
        "unknown reason",
        "billing",
        "orders",
    }
    assert set(by_rule) == {*CASES, *others}


def test_a_line_about_an_instance_belongs_to_the_group_of_its_instance(by_rule):
    expected = [
        (20, "STATIC_NEW", None, None, None),
        (40, "STATIC_FENCED", None, None, "old"),
        (70, "STATIC_REPLACED", None, None, "new"),
        (70, "STATIC_NO_REBALANCE", None, None, None),
    ]
    assert_rows(by_rule["orders"], expected)


def test_a_static_join_without_a_rebalance_belongs_to_the_group_of_the_previous_line(by_rule):
    assert [event for _, event, *_ in by_rule["billing"]] == [
        "STATIC_NEW",
        "STATIC_REPLACED",
        "STATIC_NO_REBALANCE",
        "STATIC_NEW",
    ]


def test_a_start_without_a_reason_has_no_cause_and_an_unknown_reason_is_unknown(events, by_group):
    causes = by_group(events.where("event = 'REBALANCE_START'"), ["event_seq"], ["cause"])

    assert causes["known reason"] == [("LEAVE",)]
    assert causes["no reason"] == [(None,)]
    assert causes["unknown reason"] == [("UNKNOWN",)]


def test_event_seq_is_a_key(events):
    assert events.select("group_id", "event_seq").distinct().count() == events.count()
