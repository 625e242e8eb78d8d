"""group_metadata: the fields of each record; null where a member's bytes are unreadable."""

import pytest

from coordinator_core.records import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_key,
    encode_subscription,
    encode_value,
)
from jobs.group_metadata import group_metadata, kept_states
from jobs.lake.tables import conform

SUBSCRIPTION = encode_subscription(
    Subscription(3, ["orders"], None, [("orders", [0, 1])], generation_id=4, rack_id="r1")
)
ASSIGNMENT = encode_assignment(Assignment(1, [("orders", [0]), ("payments", [2, 3])]))
MEMBER = {
    "member_id": "m-1",
    "group_instance_id": "i",
    "client_id": "billing",
    "client_host": "/10.0.0.1",
    "rebalance_timeout": 60_000,
    "session_timeout": 10_000,
    "subscription": SUBSCRIPTION,
    "assignment": ASSIGNMENT,
}
GROUP_VALUE = {
    "protocol_type": "consumer",
    "generation": 5,
    "protocol": "range",
    "leader": "m-1",
    "current_state_timestamp": 1700,
    "members": [MEMBER],
}


def value(version, **changed):
    return encode_value(2, version, GROUP_VALUE | changed)


def with_member(**changed):
    return value(3, members=[MEMBER | changed])


# A Connect worker with the protocol eager. Its URL is a:80 and its config offset is 5; connector c
# and task 3 of c are assigned to it.
WORKER = MEMBER | {
    "subscription": b"\0\0\0\4a:80" + bytes(7) + b"\5",
    "assignment": b"\0\0\0\0\0\1l\0\4a:80" + bytes(7) + b"\7\0\0\0\1\0\1c\0\0\0\2"
    + b"\xff\xff\xff\xff\0\0\0\3",
}  # fmt: skip
LEFT_OUT = WORKER | {"member_id": "m-2", "assignment": b""}
OLDER = {k: v for k, v in GROUP_VALUE.items() if k != "current_state_timestamp"} | {
    "members": [
        {k: v for k, v in MEMBER.items() if k not in ("group_instance_id", "rebalance_timeout")}
    ]
}
VALUES = {
    "complete": value(3),
    "state time not set": value(3, current_state_timestamp=-1),
    "state time of 2262": value(3, current_state_timestamp=9_214_646_400_000),
    "state time of 9999": value(3, current_state_timestamp=253_402_214_400_000),
    "state time beyond years": value(3, current_state_timestamp=2**63 - 1),
    "version 0": encode_value(2, 0, OLDER),
    "empty": value(3, members=[], protocol=None, leader=None),
    "tombstone": None,
    "omitted by the leader": with_member(assignment=b""),
    "unreadable": with_member(subscription=b"\x00", assignment=b"\xff"),
    "connect": value(3, protocol_type="connect"),
    "worker": value(3, protocol_type="connect", protocol="eager", members=[WORKER, LEFT_OUT]),
    "first subscription version": with_member(
        subscription=encode_subscription(Subscription(0, ["orders"]))
    ),
}


@pytest.fixture(scope="module")
def groups(frame):
    records = [
        {"log_offset": offset, "append_time": 9, "key_type": 2, "value": data,
         "key": encode_key(2, {"group": name})}
        for offset, (name, data) in enumerate(VALUES.items())
    ]  # fmt: skip
    commit = {"log_offset": 99, "key_type": 1, "key": b"not decoded"}
    decoded = group_metadata(frame("offsets_records", [*records, commit]))
    return {row.group_id: row for row in conform(decoded, "group_metadata").collect()}


def test_each_group_record_and_no_other_is_a_row(groups):
    assert set(groups) == set(VALUES)


def test_fields_of_a_group(groups):
    row = groups["complete"]

    assert (row.topic_partition, row.log_offset) == ("__consumer_offsets-0", 0)
    assert (row.tombstone, row.value_version, row.generation) == (False, 3, 5)
    assert (row.protocol_type, row.protocol, row.leader) == ("consumer", "range", "m-1")
    assert row.state_timestamp_ms == 1700


def test_fields_of_a_member(groups):
    (member,) = groups["complete"].members

    assert member.asDict(recursive=True) == {
        "member_id": "m-1",
        "instance_id": "i",
        "client_id": "billing",
        "client_host": "/10.0.0.1",
        "rebalance_timeout_ms": 60_000,
        "session_timeout_ms": 10_000,
        "subscribed_topics": ["orders"],
        "owned": [{"topic": "orders", "partitions": [0, 1]}],
        "owned_generation": 4,
        "rack_id": "r1",
        "assigned": [
            {"topic": "orders", "partitions": [0]},
            {"topic": "payments", "partitions": [2, 3]},
        ],
        "subscription": SUBSCRIPTION,
        "assignment": ASSIGNMENT,
    }


@pytest.mark.parametrize("when", ["not set", "of 2262", "of 9999", "beyond years"])
def test_a_state_time_that_is_not_set_or_after_2261_is_null(groups, when):
    assert groups[f"state time {when}"].state_timestamp_ms is None


def test_version_0_has_neither_state_time_nor_rebalance_timeout(groups):
    row = groups["version 0"]

    assert (row.value_version, row.state_timestamp_ms) == (0, None)
    assert (row.members[0].rebalance_timeout_ms, row.members[0].instance_id) == (-1, None)


def test_an_empty_group_has_no_members_and_a_tombstone_has_null(groups):
    assert (groups["empty"].members, groups["empty"].tombstone) == ([], False)
    tombstone = groups["tombstone"]
    assert (tombstone.members, tombstone.tombstone, tombstone.generation) == (None, True, None)


# group -> subscribed topics, owned partitions, the generation of the owned partitions, assigned
# partitions
MEMBER_FIELDS = {
    "omitted by the leader": (["orders"], [("orders", [0, 1])], 4, []),
    "unreadable": (None, None, None, None),
    "connect": (None, None, None, None),
    "first subscription version": (
        ["orders"], [], None, [("orders", [0]), ("payments", [2, 3])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("group", MEMBER_FIELDS)
def test_fields_read_from_a_members_bytes(groups, group):
    (member,) = groups[group].members

    def pairs(topics):
        return topics and [(topic, numbers) for topic, numbers in topics]

    assert (
        member.subscribed_topics,
        pairs(member.owned),
        member.owned_generation,
        pairs(member.assigned),
    ) == MEMBER_FIELDS[group]


def test_members_of_connect_by_their_own_metadata(groups):
    worker, left_out = groups["worker"].task_members

    assert (worker.member_id, worker.endpoint, worker.config_offset) == ("m-1", "a:80", 5)
    assert (worker.assigned_config_offset, worker.delay_ms, worker.unreadable) == (7, 0, None)
    assert [tuple(task) for task in worker.tasks] == [
        ("connector", None, "c", -1),
        ("task", None, "c", 3),
    ]
    assert (left_out.member_id, left_out.tasks, left_out.unreadable) == ("m-2", [], None)


def test_other_groups_have_no_members_of_this_kind(groups):
    assert {name for name, row in groups.items() if row.task_members is not None} == {
        "connect",
        "worker",
    }


def test_metadata_of_a_worker_that_is_no_worker_s_is_named(groups):
    (worker,) = groups["connect"].task_members

    assert worker.tasks == []
    assert worker.unreadable.startswith("ConnectWorkerState")


def sticky(user_data, protocol="cooperative-sticky", version=3):
    topics = ["orders", "payments"]
    subscription = Subscription(version, topics, bytes.fromhex(user_data), [])
    return {"protocol": protocol}, encode_subscription(subscription)


def worker(assignment):
    """A Connect worker's metadata, version 2: URL a:80, config offset 5."""
    values = {"protocol_type": "connect", "protocol": "sessioned"}
    return values, b"\0\2\0\4a:80" + bytes(7) + b"\5" + assignment


def thread(joins):
    """A thread of Kafka Streams 4.4 that has joined so often, without tasks."""
    head = f"0000000B0000000B{'AB' * 16}0000000000000000"
    return sticky(f"{head}{joins:02X}{'00' * 8}", "stream")


# first subscription of a member -> kept state, and generation in hexadecimal
STATES = {
    "a new Java process": (sticky("FFFFFFFF"), False, None),
    "a Java process that was in generation 7": (sticky("00000007"), True, "00000007"),
    "a new process of franz-go": (sticky("00000000"), False, None),
    "a process of franz-go that was in generation 17": (
        sticky("0000000000000011"), True, "00000011",
    ),
    "partitions of the previous assignment": (
        sticky("0000000100066F72646572730000000100000003"), True, None,
    ),
    "a new process of librdkafka has no user data": (sticky(""), False, None),
    "no user data, as of Java before 2.8.1": (sticky("", version=1), None, None),
    "a new process of Streams joins without, then with its member id": (thread(2), False, None),
    "a thread of Streams after rebalances": (thread(8), True, None),
    "a thread of Streams that joined once more": (thread(3), None, None),
    "a new worker": (worker(b"\xff" * 4), False, None),
    "a worker with an assignment": (worker(b"\0\0\0\2\0\1"), True, None),
}  # fmt: skip


@pytest.fixture(scope="module")
def states(frame):
    records = [
        {"log_offset": offset, "key_type": 2, "key": encode_key(2, {"group": name}),
         "value": value(3, **values, members=[MEMBER | {"subscription": subscription}])}
        for offset, (name, ((values, subscription), _, _)) in enumerate(STATES.items())
    ]  # fmt: skip
    kept = kept_states(group_metadata(frame("offsets_records", records)))
    return {row.group_id: (row.kept_state, row.kept_generation) for row in kept.collect()}


@pytest.mark.parametrize("name", STATES)
def test_kept_states(states, name):
    assert states[name] == STATES[name][1:]
