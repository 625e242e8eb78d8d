"""Which evidence names a topic id."""

import pytest

from jobs import topic_ids
from jobs.lake.opening import open_lake
from jobs.lake.scope import AllDates

ORDERS, PAYMENTS = "AAAAAAAAAAAAAAAAAAAAAA", "BBBBBBBBBBBBBBBBBBBBBB"


def target(*ids):
    """Member m subscribes to both topics, and has partition 0 of the topics with these ids."""
    assigned = [
        {"role": "active", "topic_id": each, "partitions": [0], "subtopology": None, "epochs": None}
        for each in ids
    ]
    records = [
        {"record": "ConsumerGroupMemberMetadata", "topics": ["orders", "payments"]},
        {"record": "ConsumerGroupTargetAssignmentMember", "assigned": assigned},
        {"record": "ConsumerGroupTargetAssignmentMetadata", "epoch": 1},
    ]
    in_group = {"group_id": "g", "member_id": "m", "group_type": "consumer"}
    return [in_group | each | {"log_offset": at} for at, each in enumerate(records)]


def committed(*topics):
    return [
        {"group_id": "g", "topic": topic, "topic_id": topic_id, "partition": 0, "log_offset": at}
        for at, (topic, topic_id) in enumerate(topics)
    ]


@pytest.mark.parametrize(
    ("commits", "expected"),
    [
        ([], []),
        (
            [("orders", ORDERS)],
            [(ORDERS, "orders", "commits"), (PAYMENTS, "payments", "subscriptions")],
        ),
        (
            [("orders", ORDERS), ("payments", PAYMENTS)],
            [(ORDERS, "orders", "commits"), (PAYMENTS, "payments", "commits")],
        ),
    ],
    ids=["two ids may be either topic", "the last id has the last name", "commits name all ids"],
)
def test_ids_are_named_by_commits_and_else_by_subscriptions(
    spark, tmp_path, write_lake, commits, expected
):
    records, offsets = target(ORDERS, PAYMENTS), committed(*commits)
    tables = {"group_records": records, "committed_offsets": offsets}
    scope = AllDates(open_lake(spark, write_lake(tmp_path, tables), "c"))

    topic_ids.run(scope)

    rows = scope.lake.read("topic_ids").collect()
    assert sorted((row.topic_id, row.topic, row.evidence) for row in rows) == expected


def test_targets_are_not_read_in_order_if_all_ids_have_names(
    spark, tmp_path, write_lake, monkeypatch
):
    monkeypatch.setattr(topic_ids, "_inferred", lambda *_: pytest.fail("inferred"))
    records = target(ORDERS, PAYMENTS)
    offsets = committed(("orders", ORDERS), ("payments", PAYMENTS))
    tables = {"group_records": records, "committed_offsets": offsets}
    topic_ids.run(AllDates(open_lake(spark, write_lake(tmp_path, tables), "c")))
