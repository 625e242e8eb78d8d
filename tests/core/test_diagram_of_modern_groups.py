"""Diagrams of consumer, share and streams groups."""

import json

import pytest

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.diagram import as_text, draw, record_scenario, record_trace
from coordinator_core.diagram.drawing import Arrow, Note
from coordinator_core.scenarios.group_types import play_scenario
from coordinator_core.scenarios.scenario import derived_ids
from tools.modern_situations import SITUATIONS, situations

ORDERS = {"name": "orders", "id": "00000000-0000-0000-0000-00000000000a", "partitions": 2}
CREATED = {"at_ms": 1000, "id": "t", "op": "metadata", "topics": [ORDERS]}


def heartbeat(at_ms, step_id, epoch, kind="consumer", **fields):
    return {
        "at_ms": at_ms,
        "id": step_id,
        "op": f"{kind}_heartbeat",
        "group": fields.pop("group", "g"),
        "member": fields.pop("member", step_id.rstrip("0123456789")),
        "member_epoch": epoch,
        **fields,
    }


def join(at_ms, step_id, **fields):
    joins = {"rebalance_timeout_ms": 60000, "topics": ["orders"], "owned": []}
    return heartbeat(at_ms, step_id, 0, **joins | fields)


def drawn(*steps, era="4.4", **kafka):
    scenario = {"name": "s", "config": {"kafka": kafka}, "steps": [CREATED, *steps]}
    return draw(record_scenario(scenario, ERAS[era], derived_ids()))


def situation(number, era="4.4"):
    (path,) = SITUATIONS.glob(f"{number}-*.json")
    return draw(record_scenario(json.loads(path.read_bytes()), ERAS[era], derived_ids()))


def texts(diagram, kind=Arrow):
    return [row.text for row in diagram.rows if isinstance(row, kind)]


# fmt: off
TWO_MEMBERS = """\
s, era 4.4

        a     b    coordinator   log
        ┊     ┊         ┊         ┊   … 1 s …
  1 s   │     │         ●         │   topic orders: 2 partitions
        ├─────┼─────────▶         │   ConsumerGroupHeartbeat, epoch 0, orders
        │     │         ●         │   assignor uniform computes the target assignment of epoch 2
        │     │         ├─────────▶   member: a, orders
        │     │         ├─────────▶   group: epoch 2
        │     │         ├─────────▶   target assignment: a orders-0,1, epoch 2
        │     │         ├─────────▶   current assignment: a epoch 2, orders-0,1
        ◀╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌┤         │   ConsumerGroupHeartbeat: epoch 2, assigned orders-0,1
        │     │         ●         │   Stable, epoch 2, assignment epoch 2
        ┊     ┊         ┊         ┊   … 2 s …
  3 s   │     ├─────────▶         │   ConsumerGroupHeartbeat, epoch 0, orders
        │     │         ●         │   assignor uniform computes the target assignment of epoch 3
        │     │         ├─────────▶   member: b, orders
        │     │         ├─────────▶   group: epoch 3
        │     │         ├─────────▶   target assignment: a orders-0, b orders-1, epoch 3
        │     │         ├─────────▶   current assignment: b epoch 3, nothing, UNRELEASED_PARTITIONS
        │     ◀╌╌╌╌╌╌╌╌╌┤         │   ConsumerGroupHeartbeat: epoch 3, assigned nothing
        │     │         ●         │   Reconciling, epoch 3, assignment epoch 3, a epoch 2, b epoch 3 UNRELEASED_PARTITIONS
3.5 s   ├─────┼─────────▶         │   ConsumerGroupHeartbeat, epoch 2
        │     │         ├─────────▶   current assignment: a epoch 2, orders-0, UNREVOKED_PARTITIONS, to revoke orders-1
        ◀╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌┤         │   ConsumerGroupHeartbeat: epoch 2, assigned orders-0
        │     │         ●         │   Reconciling, epoch 3, assignment epoch 3, a epoch 2 UNREVOKED_PARTITIONS, b epoch 3 UNRELEASED_PARTITIONS
  4 s   ├─────┼─────────▶         │   ConsumerGroupHeartbeat, epoch 2, owns orders-0
        │     │         ├─────────▶   current assignment: a epoch 3, orders-0
        ◀╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌┤         │   ConsumerGroupHeartbeat: epoch 3
        │     │         ●         │   Reconciling, epoch 3, assignment epoch 3, b epoch 3 UNRELEASED_PARTITIONS
4.5 s   ◀─────┼─────────▶         │   ConsumerGroupHeartbeat, epoch 1: FENCED_MEMBER_EPOCH
"""  # noqa: E501  the output has long lines
# fmt: on


def test_a_complete_diagram_of_a_consumer_group():
    steps = [
        join(1000, "a1"),
        join(3000, "b1"),
        heartbeat(3500, "a2", "last"),
        heartbeat(4000, "a3", "last", owned="last"),
        heartbeat(4500, "a4", 1),
    ]

    assert as_text(drawn(*steps)) == TWO_MEMBERS


def test_settings_of_the_broker_are_in_the_title():
    diagram = drawn(join(1000, "a1"), **{"group.consumer.max.size": 2})

    assert diagram.title == "s, era 4.4, group.consumer.max.size=2"


def test_a_member_id_other_than_the_participant_is_shown():
    diagram = drawn(join(1000, "a1", instance_id="i", member="a2"))

    assert texts(diagram)[:2] == [
        "ConsumerGroupHeartbeat, as member a2, instance i, epoch 0, orders",
        "member: a, instance i, orders",
    ]


def test_references_to_answers_stand_for_their_epoch_and_assignment():
    diagram = drawn(join(1000, "a1"), heartbeat(2000, "a2", "@a1", owned="@a1"))

    assert texts(diagram)[-1] == "ConsumerGroupHeartbeat, epoch 2, owns orders-0,1: epoch 2"


def test_a_commit_has_the_member_epoch():
    commit = {"at_ms": 2000, "id": "a2", "op": "commit", "group": "g", "member": "a"}

    diagram = drawn(
        join(1000, "a1"), {**commit, "generation": "last", "offsets": [["orders", 0, 7, ""]]}
    )

    assert texts(diagram)[-3] == "OffsetCommit, epoch 2, orders-0 at 7"


def test_several_groups_are_named():
    diagram = drawn(join(1000, "a1"), join(2000, "b1", group="h"))

    assert texts(diagram)[0] == "g: ConsumerGroupHeartbeat, epoch 0, orders"
    assert "h: Stable, epoch 2, assignment epoch 2" in texts(diagram, Note)


def test_changes_of_topics_settings_and_coordinator_are_notes():
    config = {"op": "group_config", "group": "g", "configs": {"consumer.session.timeout.ms": 45000}}
    steps = [
        {"at_ms": 1000, "id": "c", **config},
        join(1000, "a1"),
        {"at_ms": 2000, "id": "r", "op": "reload"},
        {"at_ms": 3000, "id": "t2", "op": "metadata", "topics": [], "deleted": ["orders"]},
    ]

    diagram = drawn(*steps)

    assert texts(diagram, Note) == [
        "topic orders: 2 partitions",
        "consumer.session.timeout.ms=45000",
        "assignor uniform computes the target assignment of epoch 2",
        "Stable, epoch 2, assignment epoch 2",
        "the coordinator moves: the group is loaded from the log",
        "topic orders deleted",
    ]
    assert diagram.columns == ("a", "coordinator", "log")


# situation, and a row of its diagram
ROWS = [
    (44, "a removed: it failed to transition from epoch 2 within 5000ms"),
    (45, "b removed: the member session expired"),
    (46, "b2 replaces b, instance i"),
    (46, "tombstones: current assignment of b, target assignment of b, member of b"),
    (49, "ConsumerGroupHeartbeat, epoch 0, regular expression web-.*"),
    (49, "regular expression: web-.* matches web-eu, web-us"),
    (51, "ConsumerGroupHeartbeat, epoch 3, assignor range"),
    (52, "the group is converted: from classic to consumer"),
    (52, "member: b of the classic protocol, orders"),
    (53, "the group is converted: from consumer to classic"),
    (54, "no upgrade: disabled by group.consumer.migration.policy"),
    (55, "share partitions: initializing orders-0,1"),
    (55, "share partitions: initialized orders-0,1"),
    (57, "topology: epoch 0, subtopology 0 of clicks"),
    (57, "NotReady, epoch 2, assignment epoch 1"),
    (
        58,
        "current assignment: a epoch 2, active 0_0,0_1, UNREVOKED_TASKS, to revoke active 0_2,0_3",
    ),
    (60, "target assignment: a active 0_0 standby 0_1, b active 0_1 standby 0_0, epoch 3"),
    (64, "tombstone of orders-0"),
]


@pytest.mark.parametrize(("number", "row"), ROWS)
def test_rows_of_situations(number, row):
    diagram = situation(number)

    assert row in texts(diagram, Arrow) + texts(diagram, Note)


@pytest.mark.parametrize("scenario", situations(), ids=lambda each: each["name"])
def test_a_trace_is_drawn_with_the_same_requests_and_records(scenario):
    trace = play_scenario(scenario, ERAS["4.4"], derived_ids(), "r")

    of_trace = draw(record_trace(trace, scenario))
    of_scenario = draw(record_scenario(scenario, ERAS["4.4"], derived_ids()))

    assert requests(of_trace) == requests(of_scenario)
    assert records(of_trace) == records(of_scenario)


def requests(diagram):
    """Requests without answers: a note between the two keeps them in rows of their own."""
    arrows = [row for row in diagram.rows if isinstance(row, Arrow) and row.target == "coordinator"]
    return sorted((row.at_ms, row.source, row.text.partition(": ")[0]) for row in arrows)


def records(diagram):
    arrows = [row for row in diagram.rows if isinstance(row, Arrow) and row.target == "log"]
    return sorted((row.at_ms, row.text) for row in arrows)


def test_a_heartbeat_that_resolves_an_expression_has_its_own_row():
    rows = [row for row in situation(49).rows if isinstance(row, Arrow)]

    at = next(index for index, row in enumerate(rows) if row.text.endswith("web-eu, web-us"))
    assert [(row.at_ms, row.text) for row in rows[at - 2 : at]] == [
        (7000, "ConsumerGroupHeartbeat, epoch 2: epoch 2 (2 times until 9 s)"),
        (13500, "ConsumerGroupHeartbeat, epoch 2: epoch 2"),
    ]
