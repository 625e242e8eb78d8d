"""Records written by brokers of 0.9 to 4.4 are decoded and encoded to the same bytes."""

import gzip
import json
from base64 import b64decode
from collections import Counter
from pathlib import Path

from coordinator_core.records import (
    BadRecord,
    decode,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_key,
    encode_subscription,
    encode_value,
)

FILE = Path(__file__).parents[2] / "data/records/captured.jsonl.gz"
CAPTURED = [
    (line["broker"], b64decode(line["key"]), line["value"] and b64decode(line["value"]))
    for line in map(json.loads, gzip.decompress(FILE.read_bytes()).splitlines())
]
OF_CONSUMER_GROUPS = [
    "ConsumerGroupMetadata",
    "ConsumerGroupMemberMetadata",
    "ConsumerGroupTargetAssignmentMetadata",
    "ConsumerGroupTargetAssignmentMember",
    "ConsumerGroupCurrentMemberAssignment",
    "ConsumerGroupRegularExpression",
]
OF_SHARE_AND_STREAMS_GROUPS = [
    "ShareGroupMetadata",
    "ShareGroupMemberMetadata",
    "ShareGroupTargetAssignmentMetadata",
    "ShareGroupTargetAssignmentMember",
    "ShareGroupCurrentMemberAssignment",
    "ShareGroupStatePartitionMetadata",
    "StreamsGroupMetadata",
    "StreamsGroupMemberMetadata",
    "StreamsGroupTargetAssignmentMetadata",
    "StreamsGroupTargetAssignmentMember",
    "StreamsGroupCurrentMemberAssignment",
    "StreamsGroupTopology",
]


def blobs(field):
    """Yields the field of every member of every consumer group, in the order of the file."""
    for _, key, value in CAPTURED:
        fields = decode(key, value).value or {}
        if fields.get("protocol_type") == "consumer":
            yield from (member[field] for member in fields["members"])


def read(decode_blob, blob):
    try:
        return decode_blob(blob)
    except BadRecord:
        return None


def test_every_record_is_written_back_to_the_same_bytes():
    for _, key, value in CAPTURED:
        record = decode(key, value)

        assert encode_key(record.type, record.key) == key
        if value is not None:
            assert encode_value(record.type, record.version, record.value) == value


def test_types_and_versions_are_those_that_each_broker_writes():
    written = {(broker, r.name, r.version) for broker, k, v in CAPTURED for r in [decode(k, v)]}

    assert {(b, n, v) for b, n, v in written if v is not None} == {
        *((broker, name, 0) for broker in ("4.1.2", "4.4.0") for name in OF_CONSUMER_GROUPS),
        *(("4.4.0", name, 0) for name in OF_SHARE_AND_STREAMS_GROUPS),
        ("0.9.0.1", "OffsetCommit", 1),
        ("0.9.0.1", "GroupMetadata", 0),
        ("0.10.0.1", "OffsetCommit", 1),
        ("0.10.0.1", "GroupMetadata", 0),
        ("0.10.2.2", "OffsetCommit", 1),
        ("0.10.2.2", "GroupMetadata", 1),
        ("2.0.1", "OffsetCommit", 1),
        ("2.0.1", "GroupMetadata", 1),
        ("2.5", "OffsetCommit", 3),
        ("2.5", "GroupMetadata", 3),
        ("2.5.1", "OffsetCommit", 3),
        ("2.5.1", "GroupMetadata", 3),
        ("3.9", "OffsetCommit", 3),
        ("3.9", "GroupMetadata", 3),
        ("3.9.1", "OffsetCommit", 3),
        ("3.9.1", "GroupMetadata", 3),
        ("4.1", "OffsetCommit", 4),
        ("4.1", "GroupMetadata", 3),
        ("4.1.2", "OffsetCommit", 4),
        ("4.1.2", "GroupMetadata", 3),
    }


def test_every_subscription_is_written_back_to_the_same_bytes():
    for blob in blobs("subscription"):
        subscription = read(decode_subscription, blob)
        if subscription is not None and subscription.version <= 3:
            assert encode_subscription(subscription) == blob


def test_every_assignment_is_written_back_to_the_same_bytes():
    for blob in blobs("assignment"):
        assignment = read(decode_assignment, blob)
        if assignment is not None:
            assert encode_assignment(assignment) == blob


def test_versions_of_the_blobs_that_members_sent():
    """99 is a member with a future version; None is unreadable."""
    subscriptions = [read(decode_subscription, blob) for blob in blobs("subscription")]
    assignments = [read(decode_assignment, blob) for blob in blobs("assignment")]

    expected = {0: 486, 1: 45, 3: 168, 99: 11, None: 21}
    assert Counter(read and read.version for read in subscriptions) == expected
    expected = {0: 309, 3: 93, None: 329}
    assert Counter(read and read.version for read in assignments) == expected


def test_unreadable_blobs_are_those_that_the_scenarios_made_unreadable():
    bad_subscriptions = {b for b in blobs("subscription") if read(decode_subscription, b) is None}
    bad_assignments = {b for b in blobs("assignment") if read(decode_assignment, b) is None}

    assert bad_subscriptions == {b"", b"\xde\xad\xbe\xef"}
    null_partitions = b"\0\0\0\0\0\1\0\2p%d\xff\xff\xff\xff"
    assert bad_assignments == {b"", b"junk", *(null_partitions % n for n in range(4))}
