"""Metadata of Connect's workers and Streams' members; samples are bytes of Kafka's classes."""

import gzip
import json
from pathlib import Path

import pytest

from coordinator_core.records import Assignment, BadRecord, Subscription
from coordinator_core.records.connect_protocol import decode_worker_assignment, decode_worker_state
from coordinator_core.records.consumer_protocol import encode_assignment, encode_subscription
from coordinator_core.records.streams_metadata import (
    decode_assignment_info,
    decode_subscription_info,
)
from coordinator_core.records.task_members import AssignedTask, task_members

FILE = Path(__file__).parents[2] / "data/frameworks/metadata.jsonl.gz"
SAMPLES = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]


def of(kind):
    return [
        pytest.param(bytes.fromhex(sample["bytes"]), sample, id=f"{sample['version']}-{number}")
        for number, sample in enumerate(SAMPLES)
        if sample["kind"] == kind
    ]


@pytest.mark.parametrize(("data", "sample"), of("subscription"))
def test_subscription_of_kafka_streams(data, sample):
    info = decode_subscription_info(data)

    assert info.version == sample["version"]
    assert info.process_id == sample["process_id"]
    assert info.endpoint == sample["endpoint"]
    assert info.error_code == sample["error_code"]
    assert info.offset_sums == {(sub, part): total for sub, part, total in sample["offset_sums"]}


@pytest.mark.parametrize(("data", "sample"), of("assignment"))
def test_assignment_of_kafka_streams(data, sample):
    info = decode_assignment_info(data)

    assert info.version == sample["version"]
    assert [list(task) for task in info.active] == sample["active"]
    assert {
        task: sorted(list(partition) for partition in partitions)
        for task, partitions in info.standby.items()
    } == {(sub, part): partitions for sub, part, partitions in sample["standby"]}
    assert info.error_code == sample["error_code"]
    assert info.next_rebalance_ms == sample["next_rebalance_ms"]


def test_samples_of_all_versions():
    assert {sample["version"] for sample in SAMPLES} == set(range(1, 12))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "version at byte 0: needs 4 bytes, 0 left"),
        (bytes(4), "version 0: version at byte 0: expected a version from 1 to 11"),
        (b"\0\0\0\x0c", "version 12: version at byte 0: expected a version from 1 to 11"),
        (
            b"\xff\xff\xff\xff",
            "version -1: version at byte 0: expected a version from 1 to 11",
        ),
    ],
)
@pytest.mark.parametrize("decode", [decode_subscription_info, decode_assignment_info])
def test_unknown_versions_are_named(decode, data, reason):
    with pytest.raises(BadRecord, match=reason):
        decode(data)


DECODERS = {"subscription": decode_subscription_info, "assignment": decode_assignment_info}


@pytest.mark.parametrize("sample", SAMPLES[::7], ids=lambda sample: str(sample["version"]))
def test_bytes_that_are_cut_short_are_unreadable(sample):
    data = bytes.fromhex(sample["bytes"])

    for length in range(len(data)):
        with pytest.raises(BadRecord):
            DECODERS[sample["kind"]](data[:length])


# Connect's format: version, then the fields in the order of the layouts.
EAGER_STATE = b"\0\0" + b"\0\4a:80" + bytes(7) + b"\5"
ASSIGNED = b"\0\0\0\1" + b"\0\1c" + b"\0\0\0\2" + b"\xff\xff\xff\xff" + b"\0\0\0\3"
HEAD = b"\0\0" + b"\0\1l" + b"\0\4a:80" + bytes(7) + b"\7"
REVOKED = b"\0\0\0\1" + b"\0\1d" + b"\0\0\0\1" + b"\0\0\0\0"
NONE = b"\xff\xff\xff\xff"


def test_eager_worker():
    state = decode_worker_state(EAGER_STATE)
    assignment = decode_worker_assignment(b"\0\0" + HEAD + ASSIGNED)

    assert (state.version, state.url, state.config_offset) == (0, "a:80", 5)
    assert assignment.config_offset == 7
    assert assignment.after([("d", 0)]) == [("c", -1), ("c", 3)]


def test_a_worker_keeps_what_is_neither_new_nor_revoked():
    current = b"\0\1" + HEAD + REVOKED + NONE + bytes(4)
    state = decode_worker_state(b"\0\1" + EAGER_STATE[2:] + len(current).to_bytes(4) + current)
    assignment = decode_worker_assignment(b"\0\1" + HEAD + ASSIGNED + REVOKED + b"\0\0\x27\x10")

    assert state.current == [("d", 0)]
    assert assignment.delay_ms == 10_000
    assert assignment.after([("d", 0), ("e", 1)]) == [("c", -1), ("c", 3), ("e", 1)]


def test_a_newer_version_of_connect_is_read_as_the_newest_known_one():
    data = HEAD + ASSIGNED + NONE + bytes(4)

    newer = decode_worker_assignment(b"\0\x09" + data + b"further bytes")

    assert newer.version == 9
    assert newer.assigned == decode_worker_assignment(b"\0\2" + data).assigned


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff", b"\0\1\0", b"\0\0\0\4a:80"])
def test_unreadable_metadata_of_a_worker_is_named(data):
    member = {"member_id": "w", "subscription": data, "assignment": b""}

    (worker,) = task_members("connect", "sessioned", [member])

    assert worker.unreadable.startswith("ConnectWorkerState")
    assert worker.tasks == []


def streams_member(partitions, user_data):
    return {
        "member_id": "m",
        "subscription": encode_subscription(Subscription(1, ["t"], b"")),
        "assignment": encode_assignment(Assignment(1, partitions, user_data)),
    }


@pytest.mark.parametrize(
    ("user_data", "reason"),
    [
        (b"\0\0\0\x63", "version 99"),
        (None, "needs 4 bytes"),
        (b"\0\0\0\1" + bytes(8), "0 active tasks for 2 partitions"),
    ],
)
def test_partitions_of_a_member_whose_tasks_are_unreadable(user_data, reason):
    """They are active, of an unknown subtopology."""
    (member,) = task_members("consumer", "stream", [streams_member([("t", [1, 0])], user_data)])

    assert reason in member.unreadable
    assert member.tasks == [
        AssignedTask("active", None, "t", 0),
        AssignedTask("active", None, "t", 1),
    ]


@pytest.mark.parametrize(
    ("protocol_type", "protocol"),
    [("consumer", "range"), ("consumer", None), ("connect", None), ("", None), (None, None)],
)
def test_other_groups_and_groups_without_members(protocol_type, protocol):
    assert task_members(protocol_type, protocol, []) is None
