"""generation_members: who came, who stayed, how each went, and which process a member is."""

import pytest

from jobs.generation_members import generation_members
from jobs.lake.tables import conform


def member(member_id, instance_id=None, client_id=None, host="/10.0.0.1"):
    return {
        "member_id": member_id,
        "instance_id": instance_id,
        "client_id": client_id or f"client-{member_id}",
        "client_host": host,
    }


def record(ms, generation, *members):
    """A record of members; a plain name is a dynamic member with a client of its own."""
    full = [member(m) if isinstance(m, str) else m for m in members]
    return {"append_time": ms, "generation": generation, "members": full, "leader": "a"}


def line(ms, event, current, **more):
    return {"event_time": ms, "event": event, "current_generation": current, **more}


def static(member_id):
    return member(member_id, instance_id="i")


def twin(member_id):
    return member(member_id, client_id="app")


# rule -> records in their order, lines in theirs,
#         then (generation, member, change, left how, when, gone)
CASES = {
    "who was not in the record before joined, who was is retained": (
        [record(10, 1, "a"), record(20, 2, "a", "b")],
        [],
        [
            (1, "a", "joined", None, None, False),
            (2, "a", "retained", None, None, False),
            (2, "b", "joined", None, None, False),
        ],
    ),
    "a generation without a record stands not in between": (
        [record(10, 1, "a"), record(20, 4, "a")],
        [],
        [(1, "a", "joined", None, None, False), (4, "a", "retained", None, None, False)],
    ),
    "in an empty group nobody is retained": (
        [record(10, 1, "a"), record(20, 2), record(30, 3, "b")],
        [],
        [(1, "a", "joined", None, None, True), (3, "b", "joined", None, None, False)],
    ),
    "records alone: that a static member was replaced shows": (
        [record(10, 1, static("s1")), record(20, 2, static("s2"))],
        [],
        [
            (1, "s1", "joined", "replaced", None, True),
            (2, "s2", "replaced", None, None, False),
        ],
    ),
    "a static member replaced within a generation: both were in it": (
        [record(10, 1, static("s1"), "a"), record(20, 1, static("s2"), "a")],
        [],
        [
            (1, "a", "joined", None, None, False),
            (1, "s1", "joined", "replaced", None, True),
            (1, "s2", "replaced", None, None, False),
        ],
    ),
    "records alone: how a dynamic member went is unknown": (
        [record(10, 1, "a", "b"), record(20, 2, "a")],
        [],
        [
            (1, "a", "joined", None, None, False),
            (1, "b", "joined", None, None, True),
            (2, "a", "retained", None, None, False),
        ],
    ),
    "a line says that a member left, beside the last generation it was in": (
        [record(10, 1, "a", "b"), record(20, 2, "a", "b"), record(40, 3, "a")],
        [line(30, "LEFT", 2, member_id="b")],
        [
            (1, "a", "joined", None, None, False),
            (1, "b", "joined", None, None, False),
            (2, "a", "retained", None, None, False),
            (2, "b", "retained", "left", 30, True),
            (3, "a", "retained", None, None, False),
        ],
    ),
    "a line says that a session expired": (
        [record(10, 1, "a")],
        [line(30, "HEARTBEAT_EXPIRED", 1, member_id="a")],
        [(1, "a", "joined", "expired", 30, False)],
    ),
    "who is listed for not rejoining was dropped": (
        [record(10, 1, "a", "b"), record(40, 2, "a")],
        [line(35, "DROPPED_NOT_REJOINED", 1, members=["b", "x"])],
        [
            (1, "a", "joined", None, None, False),
            (1, "b", "joined", "dropped", 35, True),
            (2, "a", "retained", None, None, False),
        ],
    ),
    "who is listed for not syncing was dropped": (
        [record(10, 1, "a", "b"), record(40, 3, "a")],
        [line(35, "REBALANCE_START", 2, members=["b"], cause="SYNC_TIMEOUT")],
        [
            (1, "a", "joined", None, None, False),
            (1, "b", "joined", "dropped", 35, True),
            (3, "a", "retained", None, None, False),
        ],
    ),
    "a start that lists members for another reason drops nobody": (
        [record(10, 1, "a", "b"), record(40, 2, "a", "b")],
        [line(35, "REBALANCE_START", 1, members=["b"], cause="LEAVE")],
        [
            (1, "a", "joined", None, None, False),
            (1, "b", "joined", None, None, False),
            (2, "a", "retained", None, None, False),
            (2, "b", "retained", None, None, False),
        ],
    ),
    "a line says when a static member was replaced": (
        [record(10, 1, static("s1")), record(20, 1, static("s2"))],
        [line(19, "STATIC_REPLACED", 1, instance_id="i", old_member_id="s1")],
        [
            (1, "s1", "joined", "replaced", 19, True),
            (1, "s2", "replaced", None, None, False),
        ],
    ),
    "of two lines about a member the first ended it": (
        [record(10, 1, "a")],
        [
            line(30, "HEARTBEAT_EXPIRED", 1, member_id="a"),
            line(50, "LEFT", 1, member_id="a"),
        ],
        [(1, "a", "joined", "expired", 30, False)],
    ),
}

# rule -> records, then (generation, member, process)
PROCESSES = {
    "a static member is its instance": (
        [record(10, 1, static("s1")), record(20, 2, static("s2"))],
        [(1, "s1", "i"), (2, "s2", "i")],
    ),
    "a dynamic member is its client id and host, over a restart too": (
        [
            record(10, 1, twin("x1")),
            record(20, 2, twin("x1"), twin("x2")),
            record(30, 3, twin("x2")),
        ],
        [
            (1, "x1", "app@10.0.0.1"),
            (2, "x1", "app@10.0.0.1"),
            (2, "x2", "app@10.0.0.1"),
            (3, "x2", "app@10.0.0.1"),
        ],
    ),
    "two that stay side by side under one client id and host are two processes": (
        [record(10, 1, twin("x1"), twin("x2"), "a"), record(20, 2, twin("x1"), twin("x2"), "a")],
        [
            (1, "a", "client-a@10.0.0.1"),
            (1, "x1", "x1"),
            (1, "x2", "x2"),
            (2, "a", "client-a@10.0.0.1"),
            (2, "x1", "x1"),
            (2, "x2", "x2"),
        ],
    ),
    "one client id on two hosts is two processes": (
        [record(10, 1, twin("x1"), member("y1", client_id="app", host="/10.0.0.2"))],
        [(1, "x1", "app@10.0.0.1"), (1, "y1", "app@10.0.0.2")],
    ),
}


def events_and_records(rule, records, lines):
    """The record's event stands in the timeline where its time puts it."""
    events = [line | {"seq": line["event_time"] * 10} for line in lines]
    metadata = []
    for offset, stored in enumerate(records):
        metadata.append({"group_id": rule, "log_offset": offset, **stored})
        events.append(
            {
                "seq": stored["append_time"] * 10 + 5,
                "event_time": stored["append_time"],
                "event": "RECORD" if stored["members"] else "RECORD_EMPTY",
                "event_generation": stored["generation"],
                "topic_partition": "__consumer_offsets-0",
                "log_offset": offset,
            }
        )
    return [{"group_id": rule} | event for event in events], metadata


def computed(frame, cases):
    events, records = [], []
    for rule, (stored, *lines, _) in cases.items():
        of_case = events_and_records(rule, stored, lines[0] if lines else [])
        events += of_case[0]
        records += of_case[1]
    made = generation_members(frame("timeline", events), frame("group_metadata", records))
    return conform(made, "generation_members")


@pytest.fixture(scope="module")
def found(frame, by_group):
    columns = ["generation", "member_id", "change", "left_how", "left_time", "gone"]
    return by_group(computed(frame, CASES), ["generation", "member_id"], columns)


@pytest.mark.parametrize("rule", CASES)
def test_members(found, rule):
    assert found[rule] == CASES[rule][-1]


@pytest.fixture(scope="module")
def processes(frame, by_group):
    columns = ["generation", "member_id", "process"]
    return by_group(computed(frame, PROCESSES), ["generation", "member_id"], columns)


@pytest.mark.parametrize("rule", PROCESSES)
def test_process(processes, rule):
    assert processes[rule] == PROCESSES[rule][-1]


def test_a_member_keeps_what_its_record_says(frame):
    said = {
        **member("a", client_id="billing"),
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "subscribed_topics": ["orders"],
    }
    lines = [line(30, "LEFT", 1, member_id="a", client_reason="unsubscribed")]
    events, records = events_and_records("g", [record(10, 1, said)], lines)

    made = generation_members(frame("timeline", events), frame("group_metadata", records))

    columns = ["client_id", "client_host", "session_timeout_ms", "rebalance_timeout_ms",
               "subscribed_topics", "is_leader", "left_reason"]  # fmt: skip
    assert [tuple(row) for row in made.select(columns).collect()] == [
        ("billing", "/10.0.0.1", 10_000, 60_000, ["orders"], True, "unsubscribed")
    ]
