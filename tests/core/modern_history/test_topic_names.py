"""Names of topic ids that no record names."""

from dataclasses import replace

import pytest

from coordinator_core.modern_history import GroupRecord, RecordKind
from coordinator_core.modern_history.topic_names import (
    lost_ids,
    names_by_deletion,
    names_by_subscription,
    observations,
)


def member(topics, member_id="m"):
    return GroupRecord(
        time_ms=0,
        position=0,
        kind=RecordKind.MEMBER,
        group_type="consumer",
        is_tombstone=False,
        member_id=member_id,
        topics=tuple(topics),
    )


def target(ids, member_id="m"):
    assigned = frozenset(("active", None, topic_id, 0) for topic_id in ids)
    return [
        GroupRecord(
            time_ms=0,
            position=0,
            kind=RecordKind.TARGET_MEMBER,
            group_type="consumer",
            is_tombstone=False,
            member_id=member_id,
            assigned=assigned,
        ),
        GroupRecord(
            time_ms=0,
            position=0,
            kind=RecordKind.TARGET,
            group_type="consumer",
            is_tombstone=False,
            epoch=1,
        ),
    ]


# rule -> records of a group, names that records contain, further names
CASES = {
    "one subscribed topic": ([member("t"), *target("1")], {}, {"1": "t"}),
    "the last of several topics": (
        [member("tu"), *target("12")], {"1": "t"}, {"2": "u"},
    ),
    "two topics without a name": ([member("tu"), *target("12")], {}, {}),
    "a topic more than before": (
        [member("tu"), *target("12"), member("tuv"), *target("123")], {}, {"3": "v"},
    ),
    "a topic of the one and of the other subscription": (
        [member("tu"), *target("12"), member("uv"), *target("23")], {},
        {"1": "t", "2": "u", "3": "v"},
    ),
    "a subscription that the target was not computed for": (
        [member("t"), *target("1"), member("u")], {}, {"1": "t"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", CASES)
def test_names_by_subscription(rule):
    records, named, expected = CASES[rule]

    assert names_by_subscription(observations(records), named) == expected


def test_an_id_that_leaves_the_target_has_the_name_of_the_deleted_topic():
    later = [replace(each, time_ms=500) for each in target("1")]

    lost = list(lost_ids([member("tu"), *target("12"), *later]))

    assert lost == [(500, frozenset("2"))]
    assert names_by_deletion(lost, [(100, "u")], {}) == {"2": "u"}
    assert names_by_deletion(lost, [(100, "u"), (200, "v")], {}) == {}
    assert names_by_deletion(lost, [(600, "u")], {}) == {}
