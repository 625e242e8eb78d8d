"""Diagrams of consumers with a coordinator: the scripts of examples/consumers, and events."""

from base64 import b64decode

import pytest

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.diagram import as_mermaid, draw, record_consumers
from coordinator_core.diagram.drawing import Arrow, Note
from coordinator_core.records import decode_assignment, decode_subscription
from coordinator_core.scenarios.scenario import derived_ids
from tools.situations import scripts, situations

SCRIPTS = {each["name"][:2]: each for each in scripts()}


def recording_of(script):
    return record_consumers(script, ERAS[script["era"]], derived_ids())


def rows(script):
    """(ms, column, words) of notes over consumers and of arrows from or to them, as drawn."""
    drawn = []
    for row in draw(recording_of(script)).rows:
        if isinstance(row, Note) and row.over != "coordinator":
            drawn.append((row.at_ms, row.over, row.text))
        elif isinstance(row, Arrow):
            drawn.append((row.at_ms, row.target if row.is_answer else row.source, row.text))
    return drawn


# fmt: off
ROWS = {
    "36": [
        (3014, "a", "Heartbeat, generation 1: REBALANCE_IN_PROGRESS"),
        (3016, "a", "onPartitionsRevoked: orders-0,1,2,3"),
        (3018, "a", "JoinGroup, member a, same protocols"),
        (3018, "b", "JoinGroup: generation 2, leader a"),
        (3022, "a", "SyncGroup, generation 2, a gets orders-0,1, b gets orders-2,3"),
        (3024, "a", "onPartitionsAssigned: orders-0,1"),
        (3024, "b", "onPartitionsAssigned: orders-2,3"),
    ],
    "37": [
        (3014, "a", "Heartbeat, generation 1: REBALANCE_IN_PROGRESS"),
        (3018, "a", "JoinGroup, member a, cooperative-sticky for orders, owns orders-0,1,2,3"),
        (3022, "a", "SyncGroup, generation 2, a gets orders-0,1, b gets no partitions"),
        (3024, "a", "onPartitionsRevoked: orders-2,3"),
        (3024, "b", "onPartitionsAssigned: no partitions"),
        (3026, "a", "JoinGroup, member a, cooperative-sticky for orders, owns orders-0,1"),
        (6022, "b", "Heartbeat, generation 2: REBALANCE_IN_PROGRESS"),
        (6030, "a", "SyncGroup, generation 3, a gets orders-0,1, b gets orders-2,3"),
        (6032, "b", "onPartitionsAssigned: orders-2,3"),
    ],
    "38": [
        (2000, "b", "connection breaks"),
        (2106, "b", "JoinGroup, no member id, same protocols"),
        (3014, "a", "JoinGroup: generation 2, leader of a, b, b2"),
        (3014, "b", "JoinGroup: generation 2, member id b2, leader a"),
        (3014, "b", "does not receive this response: it went to the old connection"),
        (3018, "b", "SyncGroup: orders-2"),
        (15018, "a", "Heartbeat, generation 2: REBALANCE_IN_PROGRESS"),
        (15022, "a", "JoinGroup: generation 3, leader of a, b2"),
    ],
    "39": [
        (1010, "b", "JoinGroup, member b, same protocols"),
        (2000, "b", "connection breaks"),
        (2106, "b", "JoinGroup, member b, same protocols"),
        (3018, "a", "JoinGroup: generation 2, leader of a, b"),
        (3024, "b", "onPartitionsAssigned: orders-2,3"),
    ],
    "40": [
        (5008, "a", "onPartitionsRevoked: orders-0,1"),
        (5010, "a", "JoinGroup, member a, same protocols"),
        (6022, "b", "Heartbeat, generation 2: REBALANCE_IN_PROGRESS"),
        (6030, "a", "SyncGroup, generation 3, a gets orders-0,1,2, b gets orders-3,4,5"),
    ],
}
# fmt: on


@pytest.mark.parametrize("number", ROWS)
def test_the_recording_of_each_script(number):
    drawn = iter(rows(SCRIPTS[number]))

    # All rows are in the diagram, in this order.
    assert [row for row in ROWS[number] if row not in drawn] == []


def test_every_script_is_asserted():
    assert set(ROWS) == set(SCRIPTS)


def test_a_member_without_a_process_stays_until_its_session_expires():
    notes = [row for row in draw(recording_of(SCRIPTS["38"])).rows if isinstance(row, Note)]

    assert (13014, "session of b expired, member removed") in [(n.at_ms, n.text) for n in notes]


def test_a_join_that_was_never_answered_is_listed_at_the_end():
    assert (
        draw(recording_of(SCRIPTS["39"])).rows[-1].text == "never answered: b's JoinGroup at 1.01 s"
    )


# -- the hand-written scenario ---------------------------------------------------------------------


def requests(steps, has_ids):
    """Per consumer, the owned partitions of its joins and the assignments of its syncs.

    ``has_ids``: skip joins without a member id, which only return one.
    """
    contents = {"a": [], "b": []}
    for step in steps:
        if step["op"] == "join" and (step["member"] or not has_ids):
            data = b64decode(step["protocols"][0][1])
            contents[step["id"][0]].append(("join", decode_subscription(data).owned_partitions))
        elif step["op"] == "sync":
            assignments = [
                decode_assignment(b64decode(each)).partitions for _, each in step["assignments"]
            ]
            contents[step["id"][0]].append(("sync", assignments))
    return contents


def test_the_cooperative_scenario_has_the_requests_that_consumers_send():
    by_hand = next(each for each in situations() if each["name"].startswith("34-"))["steps"]
    by_consumers = recording_of(SCRIPTS["37"]).steps.values()

    assert requests(by_hand, has_ids=False) == requests(by_consumers, has_ids=True)


# -- events of a script ----------------------------------------------------------------------------


def script(*happens, until_ms=9000, **settings):
    consumer = {"library": "java-4.1", "settings": settings}
    return {
        "name": "s", "era": "4.1", "config": {"group_initial_rebalance_delay_ms": 0},
        "topics": {"orders": 2}, "network_ms": 1, "until_ms": until_ms,
        "consumers": {"a": {**consumer, "starts_ms": 0}, "b": {**consumer, "starts_ms": 10}},
        "happens": list(happens),
    }  # fmt: skip


def test_a_closed_consumer_sends_leave_group():
    drawn = rows(script({"at_ms": 5000, "what": "close", "who": "b"}))

    assert (5000, "b", "closes") in drawn
    assert any(who == "b" and text == "LeaveGroup, b" for _, who, text in drawn)


def test_a_crashed_consumer_sends_nothing():
    drawn = rows(script({"at_ms": 5000, "what": "crash", "who": "b"}, until_ms=60000))

    assert [row for row in drawn if row[1] == "b"][-1] == (5000, "b", "crashes")
    assert "JoinGroup: generation 3, leader of a" in [text for _, _, text in drawn]


def test_a_story_in_era_0_9():
    old = script(until_ms=4000) | {"era": "0.9"}
    for consumer in old["consumers"].values():
        consumer["library"] = "java-0.9"

    mermaid = as_mermaid(draw(recording_of(old)))

    assert "AwaitingSync, generation 2" in mermaid


def test_an_unknown_event_is_refused():
    with pytest.raises(KeyError, match="explode"):
        recording_of(script({"at_ms": 1, "what": "explode"}))
