"""Consumers drawn as they live with a coordinator: examples/consumers, and what may happen."""

from base64 import b64decode

import pytest

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.diagram import as_mermaid, draw, live
from coordinator_core.diagram.drawing import Arrow, Note
from coordinator_core.records import decode_assignment, decode_subscription
from coordinator_core.scenarios.scenario import derived_ids
from tools.situations import situations, stories

STORIES = {each["name"][:2]: each for each in stories()}


def told(script):
    return live(script, ERAS[script["era"]], derived_ids())


def rows(script):
    """(ms, column, words) of notes over consumers and of arrows from or to them, as drawn."""
    found = []
    for row in draw(told(script)).rows:
        if isinstance(row, Note) and row.over != "coordinator":
            found.append((row.at_ms, row.over, row.text))
        elif isinstance(row, Arrow):
            found.append((row.at_ms, row.target if row.is_answer else row.source, row.text))
    return found


# fmt: off
ROWS = {
    "36": [
        (3014, "a", "Heartbeat, generation 1: REBALANCE_IN_PROGRESS"),
        (3016, "a", "onPartitionsRevoked: orders-0,1,2,3"),
        (3018, "a", "JoinGroup, member a, protocols as before"),
        (3018, "b", "JoinGroup: generation 2, a leads"),
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
        (2000, "b", "its connection breaks"),
        (2106, "b", "JoinGroup, no member id, protocols as before"),
        (3014, "a", "JoinGroup: generation 2, you lead a, b, b2"),
        (3014, "b", "JoinGroup: generation 2, you are b2, a leads"),
        (3014, "b", "does not get this answer: its connection is another one"),
        (3018, "b", "SyncGroup: orders-2"),
        (15018, "a", "Heartbeat, generation 2: REBALANCE_IN_PROGRESS"),
        (15022, "a", "JoinGroup: generation 3, you lead a, b2"),
    ],
    "39": [
        (1010, "b", "JoinGroup, member b, protocols as before"),
        (2000, "b", "its connection breaks"),
        (2106, "b", "JoinGroup, member b, protocols as before"),
        (3018, "a", "JoinGroup: generation 2, you lead a, b"),
        (3024, "b", "onPartitionsAssigned: orders-2,3"),
    ],
    "40": [
        (5008, "a", "onPartitionsRevoked: orders-0,1"),
        (5010, "a", "JoinGroup, member a, protocols as before"),
        (6022, "b", "Heartbeat, generation 2: REBALANCE_IN_PROGRESS"),
        (6030, "a", "SyncGroup, generation 3, a gets orders-0,1,2, b gets orders-3,4,5"),
    ],
}
# fmt: on


@pytest.mark.parametrize("number", ROWS)
def test_what_consumers_do(number):
    found = iter(rows(STORIES[number]))

    assert [row for row in ROWS[number] if row not in found] == []  # all, in this order


def test_every_story_is_asserted():
    assert set(ROWS) == set(STORIES)


def test_the_ghost_has_a_place_until_its_session_ends():
    notes = [row for row in draw(told(STORIES["38"])).rows if isinstance(row, Note)]

    assert (13014, "the session of b ends: it is removed") in [(n.at_ms, n.text) for n in notes]


def test_a_join_whose_place_was_taken_is_told_at_the_end():
    assert draw(told(STORIES["39"])).rows[-1].text == "never answered: b's JoinGroup of 1.01 s"


# -- the scenario that a hand wrote --------------------------------------------------------------


def requests(steps, has_ids):
    """By participant: what its joins say that it owns, and what its syncs assign.

    ``has_ids``: a join without a member id only brings one.
    """
    found = {"a": [], "b": []}
    for step in steps:
        if step["op"] == "join" and (step["member"] or not has_ids):
            data = b64decode(step["protocols"][0][1])
            found[step["id"][0]].append(("join", decode_subscription(data).owned_partitions))
        elif step["op"] == "sync":
            given = [
                decode_assignment(b64decode(each)).partitions for _, each in step["assignments"]
            ]
            found[step["id"][0]].append(("sync", given))
    return found


def test_the_cooperative_rounds_of_the_scenario_are_what_consumers_send():
    by_hand = next(each for each in situations() if each["name"].startswith("34-"))["steps"]
    by_consumers = told(STORIES["37"]).steps.values()

    assert requests(by_hand, has_ids=False) == requests(by_consumers, has_ids=True)


# -- what may happen -----------------------------------------------------------------------------


def script(*happens, until_ms=9000, **settings):
    consumer = {"library": "java-4.1", "settings": settings}
    return {
        "name": "s", "era": "4.1", "config": {"group_initial_rebalance_delay_ms": 0},
        "topics": {"orders": 2}, "network_ms": 1, "until_ms": until_ms,
        "consumers": {"a": {**consumer, "starts_ms": 0}, "b": {**consumer, "starts_ms": 10}},
        "happens": list(happens),
    }  # fmt: skip


def test_a_closed_consumer_leaves():
    found = rows(script({"at_ms": 5000, "what": "close", "who": "b"}))

    assert (5000, "b", "is closed") in found
    assert any(who == "b" and text == "LeaveGroup, b" for _, who, text in found)


def test_a_crashed_consumer_says_nothing_any_more():
    found = rows(script({"at_ms": 5000, "what": "crash", "who": "b"}, until_ms=60000))

    assert [row for row in found if row[1] == "b"][-1] == (5000, "b", "crashes")
    assert "JoinGroup: generation 3, you lead a" in [text for _, _, text in found]


def test_a_life_in_an_old_era():
    old = script(until_ms=4000) | {"era": "0.9"}
    for consumer in old["consumers"].values():
        consumer["library"] = "java-0.9"

    mermaid = as_mermaid(draw(told(old)))

    assert "AwaitingSync, generation 2" in mermaid


def test_what_nobody_knows_to_happen_is_refused():
    with pytest.raises(KeyError, match="explode"):
        told(script({"at_ms": 1, "what": "explode"}))
