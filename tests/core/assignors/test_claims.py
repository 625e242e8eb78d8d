"""Claims as consumers send them: subscription versions, user data, generations, conflicts."""

import base64
import gzip
import json
from pathlib import Path

import pytest

from coordinator_core.assignors import ASSIGNORS, AssignorError, Member, Topics
from coordinator_core.assignors.subscriptions import as_read, as_sent, in_user_data
from coordinator_core.records import (
    BadRecord,
    StickyUserData,
    Subscription,
    encode_cooperative_sticky_user_data,
    encode_sticky_user_data,
    encode_subscription,
)

SENT = Path(__file__).parents[2] / "data" / "assignors" / "sent.jsonl.gz"

OWNED = [("t", [0, 1])]
STICKY_V0 = encode_sticky_user_data(StickyUserData(OWNED))
STICKY_V1 = encode_sticky_user_data(StickyUserData(OWNED, 7))
COOPERATIVE = encode_cooperative_sticky_user_data(6)


def read(assignor, version, user_data=None, owned=OWNED, generation=-1):
    sent = Subscription(version, ["t"], user_data, owned, generation, None)
    return as_read(assignor, "m", encode_subscription(sent))


@pytest.mark.parametrize(
    ("member", "owned", "generation", "field_generation"),
    [
        # sticky reads only its user data.
        (read("sticky", 0), [], -1, -1),
        (read("sticky", 0, STICKY_V0), OWNED, -1, -1),
        (read("sticky", 1, STICKY_V1), OWNED, 7, -1),
        (read("sticky", 2, STICKY_V1, [], 5), OWNED, 7, 5),
        (read("sticky", 3, b"", OWNED, 5), [], -1, 5),
        (read("sticky", 3, b"\x00", OWNED, 5), [], -1, 5),
        # cooperative-sticky reads the fields, and its user data if the fields have no generation.
        (read("cooperative-sticky", 0, COOPERATIVE), [], 6, -1),
        (read("cooperative-sticky", 1), OWNED, -1, -1),
        (read("cooperative-sticky", 1, COOPERATIVE), OWNED, 6, -1),
        (read("cooperative-sticky", 1, b"\x00"), OWNED, -1, -1),
        (read("cooperative-sticky", 2, COOPERATIVE, OWNED, 5), OWNED, 5, 5),
        (read("cooperative-sticky", 3, COOPERATIVE, OWNED, -1), OWNED, 6, -1),
    ],
)
def test_source_of_claims_and_their_generation(member, owned, generation, field_generation):
    assert [(topic, list(partitions)) for topic, partitions in member.owned] == owned
    assert (member.generation, member.field_generation) == (generation, field_generation)


def test_rack_and_instance_id_are_read():
    sent = Subscription(3, ["b", "a"], None, [], -1, "r1")

    member = as_read("range", "m", encode_subscription(sent), "i")

    assert member == Member(member_id="m", topics=("b", "a"), owned=[], instance_id="i", rack="r1")


def test_an_unreadable_subscription_is_an_error():
    with pytest.raises(BadRecord):
        as_read("range", "m", b"\x00")


TWELVE = [(f"topic-{i}", 0) for i in range(12)]


@pytest.mark.parametrize(
    ("order", "sent"),
    [
        pytest.param(
            [*TWELVE, ("extra", 0)],
            "6 7 8 9 extra 0 1 2 10 3 11 4 5",
            id="no call after the thirteenth topic: the map does not grow",
        ),
        pytest.param(
            [("extra", 0), *TWELVE, ("extra", 1)],
            "6 7 8 9 0 1 2 10 3 11 4 5 extra",
            id="one more call, even for a known topic: the map grows",
        ),
    ],
)
def test_user_data_has_topics_in_the_order_of_a_hash_map(order, sent):
    topics = [topic.removeprefix("topic-") for topic, _ in in_user_data(order)]

    assert " ".join(topics) == sent


def sent_cases():
    with gzip.open(SENT, "rt") as lines:
        return [json.loads(line) for line in lines]


def test_subscription_bytes_of_kafka_consumers_give_kafkas_assignments():
    """All subscription versions and both user data versions, from bytes to lists."""
    different = []
    for case in sent_cases():
        topics = Topics(case["partitions"], case["racks"])
        members = [
            as_read(case["assignor"], m["id"], base64.b64decode(m["sent"]), m["instance_id"])
            for m in case["members"]
        ]
        try:
            answer = {
                name: [list(tp) for tp in lists]
                for name, lists in ASSIGNORS[case["assignor"]](topics, members).items()
            }
        except AssignorError as error:
            answer = error.kafka_name
        if answer != case["want"]:
            different.append(case["case"])

    assert different == []


def run(assignor, partitions, *members):
    return ASSIGNORS[assignor](
        Topics(partitions), [as_sent(assignor, *member) for member in members]
    )


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_the_claim_of_the_older_generation_loses(assignor):
    assignment = run(
        assignor,
        {"t": 2},
        ("old", ["t"], [("t", 0), ("t", 1)], 4),
        ("new", ["t"], [("t", 0)], 5),
    )

    assert assignment == {"new": [("t", 0)], "old": [("t", 1)]}


def test_no_member_keeps_a_partition_claimed_twice_in_one_generation():
    members = ("a", ["t"], [("t", 0)], 5), ("b", ["t"], [("t", 0)], 5)

    assert run("sticky", {"t": 1}, *members) == {"a": [("t", 0)], "b": []}
    assert run("cooperative-sticky", {"t": 1}, *members) == {"a": [], "b": []}


def test_a_claim_on_a_nonexistent_partition_breaks_kafkas_quotas():
    with pytest.raises(AssignorError) as caught:
        run("sticky", {"t": 3}, ("a", ["t"], [("t", 0), ("t", 5)], 7), ("b", ["t"], [("t", 1)], 7))

    assert caught.value.kafka_name == "IllegalStateException"


def test_kafka_looks_up_a_member_excluded_from_balancing():
    """The older owner of a shared partition has all partitions of its own topics."""
    members = [
        Member(
            member_id="a", topics=("own",), owned=(("own", (0,)), ("shared", (0,))), generation=3
        ),
        Member(
            member_id="b",
            topics=("shared",),
            owned=(("shared", (0, 1, 2)),),
            generation=4,
            field_generation=4,
        ),
        Member(
            member_id="c", topics=("shared", "own2"), owned=(), generation=4, field_generation=4
        ),
    ]

    with pytest.raises(AssignorError) as caught:
        ASSIGNORS["sticky"](Topics({"own": 1, "own2": 0, "shared": 3}), members)

    assert caught.value.kafka_name == "NullPointerException"


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param(
            [("a", []), ("b", ["t"])],
            {"a": [("t", 0), ("t", 2)], "b": [("t", 1)]},
            id="a leading empty subscription is skipped",
        ),
        pytest.param(
            [("a", ["t"]), ("b", [])],
            {"a": [("t", 0), ("t", 1), ("t", 2)], "b": []},
            id="a later one makes the subscriptions different",
        ),
    ],
)
def test_kafka_compares_subscriptions_with_the_first_nonempty_one(members, expected):
    assert run("sticky", {"t": 3}, *members) == expected
