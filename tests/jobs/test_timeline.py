"""timeline: the order of lines and records, incarnations, and the generation being formed."""

import pytest

from jobs.lake.tables import conform
from jobs.timeline import timeline
from tests.jobs.comparison import assert_rows

M = [{"member_id": "m", "client_id": "c", "client_host": "/h"}]


def line(ms, event, generation=None, member_id=None, members=None):
    return {
        "event_time": ms,
        "event": event,
        "generation": generation,
        "member_id": member_id,
        "members": members,
    }


def stored(ms, generation, members=M):
    return {"append_time": ms, "generation": generation, "members": members}


def tombstone(ms):
    return {"append_time": ms, "tombstone": True}


# rule -> lines in their order, records in their order, and (event, incarnation, event_generation,
# current, forming) in the order of the timeline
CASES = {
    "a line comes before the record of the same millisecond": (
        [line(50, "JOIN_COMPLETE", 1), line(60, "ASSIGNMENT_RECEIVED", 1)],
        [stored(60, 1)],
        [
            ("JOIN_COMPLETE", 1, 1, 1, 2),
            ("ASSIGNMENT_RECEIVED", 1, 1, 1, 2),
            ("RECORD", 1, 1, 1, 2),
        ],
    ),
    "records stay in the order of their log when the clock steps back": (
        [],
        [stored(9000, 1), stored(4000, 2), stored(9500, 3)],
        [("RECORD", 1, 1, 1, 2), ("RECORD", 1, 2, 2, 3), ("RECORD", 1, 3, 3, 4)],
    ),
    "a record without a time follows the previous record of its log": (
        [line(60, "JOIN_COMPLETE", 1), line(90, "REBALANCE_START", 2)],
        [stored(70, 1), stored(None, 2)],
        [
            ("JOIN_COMPLETE", 1, 1, 1, 2),
            ("RECORD", 1, 1, 1, 2),
            ("RECORD", 1, 2, 2, 3),
            ("REBALANCE_START", 1, 2, 2, 3),
        ],
    ),
    "a deletion with a line and a tombstone is one deletion": (
        [
            line(10, "JOIN_COMPLETE", 3),
            line(20, "GROUP_DEAD"),
            line(30, "MEMBER_JOIN", None, "n"),
            line(30, "REBALANCE_START", 0, "n"),
        ],
        [tombstone(20)],
        [
            ("JOIN_COMPLETE", 1, 3, 3, 4),
            ("GROUP_DEAD", 1, None, 3, 4),
            ("TOMBSTONE", 1, None, 3, 4),
            ("MEMBER_JOIN", 2, None, 0, 1),
            ("REBALANCE_START", 2, 0, 0, 1),
        ],
    ),
    "a new coordinator makes a generation again that was not recorded": (
        [
            line(10, "JOIN_COMPLETE", 3),
            line(30, "REBALANCE_START", 3, "m"),
            line(40, "JOIN_COMPLETE", 4),
            line(50, "REBALANCE_START", 4, "n"),
            line(60, "UNLOADED"),
            line(70, "LOADED"),
            line(80, "REBALANCE_START", 3, "o"),
            line(900, "JOIN_COMPLETE", 4),
        ],
        [stored(20, 3), stored(910, 4)],
        [
            ("JOIN_COMPLETE", 1, 3, 3, 4),
            ("RECORD", 1, 3, 3, 4),
            ("REBALANCE_START", 1, 3, 3, 4),
            ("JOIN_COMPLETE", 1, None, 3, 4),
            ("REBALANCE_START", 1, 3, 3, 4),
            ("UNLOADED", 1, None, 3, 4),
            ("LOADED", 1, None, 3, 4),
            ("REBALANCE_START", 1, 3, 3, 4),
            ("JOIN_COMPLETE", 1, 4, 4, 5),
            ("RECORD", 1, 4, 4, 5),
        ],
    ),
    "a number below the last record is a new incarnation, even after a load": (
        [
            line(10, "JOIN_COMPLETE", 5),
            line(60, "LOADED"),
            line(900, "JOIN_COMPLETE", 2),
        ],
        [stored(20, 5)],
        [
            ("JOIN_COMPLETE", 1, 5, 5, 6),
            ("RECORD", 1, 5, 5, 6),
            ("LOADED", 1, None, 5, 6),
            ("JOIN_COMPLETE", 2, 2, 2, 3),
        ],
    ),
    "records alone: a new incarnation begins after a tombstone": (
        [],
        [stored(10, 4), stored(20, 5, []), tombstone(30), stored(40, 1)],
        [
            ("RECORD", 1, 4, 4, 5),
            ("RECORD_EMPTY", 1, 5, 5, 6),
            ("TOMBSTONE", 1, None, 5, 6),
            ("RECORD", 2, 1, 1, 2),
        ],
    ),
    "a lower generation shows a deletion without evidence": (
        [],
        [stored(10, 7), stored(90_000, 1), stored(95_000, 2)],
        [("RECORD", 1, 7, 7, 8), ("RECORD", 2, 1, 1, 2), ("RECORD", 2, 2, 2, 3)],
    ),
    "an event in the wrong order by some ms begins no new incarnation": (
        [line(1000, "JOIN_COMPLETE", 4), line(1190, "JOIN_COMPLETE", 5)],
        [stored(1290, 4)],
        [
            ("JOIN_COMPLETE", 1, 4, 4, 5),
            ("JOIN_COMPLETE", 1, 5, 5, 6),
            ("RECORD", 1, 4, 4, 5),
        ],
    ),
    "a generation lower by one after more than 100 ms begins a new incarnation": (
        [line(1190, "JOIN_COMPLETE", 2)],
        [stored(1291, 1)],
        [("JOIN_COMPLETE", 1, 2, 2, 3), ("RECORD", 2, 1, 1, 2)],
    ),
    "a generation lower by two begins a new incarnation": (
        [line(1190, "JOIN_COMPLETE", 3)],
        [stored(1191, 1)],
        [("JOIN_COMPLETE", 1, 3, 3, 4), ("RECORD", 2, 1, 1, 2)],
    ),
    "a record of generation 0 creates the group and is no generation": (
        [line(20, "REBALANCE_START", 0, "m"), line(30, "JOIN_COMPLETE", 1)],
        [stored(10, 0, []), stored(40, 1)],
        [
            ("RECORD_EMPTY", 1, None, 0, 1),
            ("REBALANCE_START", 1, 0, 0, 1),
            ("JOIN_COMPLETE", 1, 1, 1, 2),
            ("RECORD", 1, 1, 1, 2),
        ],
    ),
    "a record of generation 0 after a deletion begins the new incarnation": (
        [],
        [stored(10, 3), tombstone(20), stored(30, 0, []), stored(40, 1)],
        [
            ("RECORD", 1, 3, 3, 4),
            ("TOMBSTONE", 1, None, 3, 4),
            ("RECORD_EMPTY", 2, None, 0, 1),
            ("RECORD", 2, 1, 1, 2),
        ],
    ),
    "events before the first logged generation count for it": (
        [line(10, "MEMBER_JOIN", None, "m"), line(20, "JOIN_COMPLETE", 8)],
        [],
        [("MEMBER_JOIN", 1, None, 7, 8), ("JOIN_COMPLETE", 1, 8, 8, 9)],
    ),
    "a departure logged after the group became empty led to it": (
        [
            line(10, "REBALANCE_START", 2, "m"),
            line(10, "GROUP_EMPTY", 3),
            line(10, "LEFT", None, "m"),
        ],
        [],
        [
            ("REBALANCE_START", 1, 2, 2, 3),
            ("GROUP_EMPTY", 1, 3, 3, 4),
            ("LEFT", 1, None, 3, 3),
        ],
    ),
    "a departure logged after the join that it completed belongs to that join": (
        [
            line(10, "REBALANCE_START", 2, "a"),
            line(40, "JOIN_COMPLETE", 3),
            line(50, "LEFT", None, "b"),
            line(80, "ASSIGNMENT_RECEIVED", 3),
        ],
        [],
        [
            ("REBALANCE_START", 1, 2, 2, 3),
            ("JOIN_COMPLETE", 1, 3, 3, 4),
            ("LEFT", 1, None, 3, 3),
            ("ASSIGNMENT_RECEIVED", 1, 3, 3, 4),
        ],
    ),
    "a departure some ms after the join led to the next generation": (
        [line(40, "JOIN_COMPLETE", 3), line(51, "LEFT", None, "b")],
        [],
        [("JOIN_COMPLETE", 1, 3, 3, 4), ("LEFT", 1, None, 3, 4)],
    ),
    "a departure that the next start names led to that start": (
        [
            line(40, "JOIN_COMPLETE", 3),
            line(41, "LEFT", None, "b"),
            line(41, "REBALANCE_START", 3, "b"),
        ],
        [],
        [
            ("JOIN_COMPLETE", 1, 3, 3, 4),
            ("LEFT", 1, None, 3, 4),
            ("REBALANCE_START", 1, 3, 3, 4),
        ],
    ),
    "a start that lists the departed member counts as naming it": (
        [
            line(40, "JOIN_COMPLETE", 3),
            line(41, "LEFT", None, "b"),
            line(41, "REBALANCE_START", 3, None, ["a", "b"]),
        ],
        [],
        [
            ("JOIN_COMPLETE", 1, 3, 3, 4),
            ("LEFT", 1, None, 3, 4),
            ("REBALANCE_START", 1, 3, 3, 4),
        ],
    ),
}


@pytest.fixture(scope="module")
def timelines(frame, by_group):
    log_events, records = [], []
    for rule, (lines, stored_records, _) in CASES.items():
        for rank, event in enumerate(lines, start=1):
            seq = event["event_time"] * 100_000 + rank
            log_events.append({"group_id": rule, "event_seq": seq, **event})
        for offset, record in enumerate(stored_records):
            records.append({"group_id": rule, "log_offset": offset, **record})
    events = timeline(frame("group_events", log_events), frame("group_metadata", records))
    columns = [
        "event",
        "incarnation",
        "event_generation",
        "current_generation",
        "forming_generation",
    ]
    return by_group(conform(events, "timeline"), ["seq"], columns)


@pytest.mark.parametrize("rule", CASES)
def test_timeline(timelines, rule):
    assert_rows(timelines[rule], CASES[rule][-1])
