"""Records byte by byte, and every kind of unreadable record."""

import pickle
import tracemalloc

import pytest

from coordinator_core.records import (
    BadRecord,
    NewerValueVersion,
    Record,
    RecordKey,
    UnknownKeyType,
    UnwritableFields,
    decode,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
    jsonable,
)

OFFSET_KEY = bytes.fromhex("0001 0001 67 0001 74 00000002")
KEY_OF_GROUP = bytes.fromhex("0002 0001 67")
TOPIC_ID = "AAECAwQFBgcICQoLDA0ODw"

# what                  type            bytes -> version and fields
VALUES = {
    "offset v0": (
        "LegacyOffsetCommit",
        "0000 0000000000000007 0002 6d65 0000000000000064",
        (0, {"offset": 7, "metadata": "me", "commit_timestamp": 100}),
    ),
    "offset v1, explicit retention": (
        "OffsetCommit",
        "0001 0000000000000007 0000 0000000000000064 00000000000003e8",
        (1, {"offset": 7, "metadata": "", "commit_timestamp": 100, "expire_timestamp": 1000}),
    ),
    "offset v2": (
        "OffsetCommit",
        "0002 0000000000000007 0000 0000000000000064",
        (2, {"offset": 7, "metadata": "", "commit_timestamp": 100}),
    ),
    "offset v3, leader epoch": (
        "OffsetCommit",
        "0003 0000000000000007 ffffffff 0000 0000000000000064",
        (3, {"offset": 7, "leader_epoch": -1, "metadata": "", "commit_timestamp": 100}),
    ),
    "offset v4, no topic id": (
        "OffsetCommit",
        "0004 0000000000000007 00000005 03 6d65 0000000000000064 00",
        (
            4,
            {
                "offset": 7,
                "leader_epoch": 5,
                "metadata": "me",
                "commit_timestamp": 100,
                "topic_id": "AAAAAAAAAAAAAAAAAAAAAA",
            },
        ),
    ),
    "offset v4, topic id and an unknown tag": (
        "OffsetCommit",
        "0004 0000000000000007 00000005 01 0000000000000064"
        " 02 00 10 000102030405060708090a0b0c0d0e0f 07 02 beef",
        (
            4,
            {
                "offset": 7,
                "leader_epoch": 5,
                "metadata": "",
                "commit_timestamp": 100,
                "topic_id": TOPIC_ID,
                "unknown_tagged_fields": [[7, b"\xbe\xef"]],
            },
        ),
    ),
    "group v0, no members": (
        "GroupMetadata",
        "0000 0008 636f6e73756d6572 00000003 ffff ffff 00000000",
        (
            0,
            {
                "protocol_type": "consumer",
                "generation": 3,
                "protocol": None,
                "leader": None,
                "members": [],
            },
        ),
    ),
    "group v3, a static member": (
        "GroupMetadata",
        "0003 0008 636f6e73756d6572 00000001 0005 72616e6765 0001 6d 0000000000000064 00000001"
        " 0001 6d 0001 69 0001 63 0001 68 00000bb8 000007d0 00000002 aabb 00000000",
        (
            3,
            {
                "protocol_type": "consumer",
                "generation": 1,
                "protocol": "range",
                "leader": "m",
                "current_state_timestamp": 100,
                "members": [
                    {
                        "member_id": "m",
                        "group_instance_id": "i",
                        "client_id": "c",
                        "client_host": "h",
                        "rebalance_timeout": 3000,
                        "session_timeout": 2000,
                        "subscription": b"\xaa\xbb",
                        "assignment": b"",
                    }
                ],
            },
        ),
    ),
    "consumer group member of the consumer protocol: null has a marker byte": (
        "ConsumerGroupMemberMetadata",
        "0000 00 00 02 63 02 68 02 02 74 00 000003e8 00 01 00 01 00",
        (
            0,
            {
                "instance_id": None,
                "rack_id": None,
                "client_id": "c",
                "client_host": "h",
                "subscribed_topic_names": ["t"],
                "subscribed_topic_regex": None,
                "rebalance_timeout_ms": 1000,
                "server_assignor": None,
                "classic_member_metadata": None,
            },
        ),
    ),
    "share group of 4.0, without a hash": (
        "ShareGroupMetadata",
        "0000 00000009 00",
        (0, {"epoch": 9}),
    ),
    "share group of 4.1": (
        "ShareGroupMetadata",
        "0000 00000009 000000000000000a 00",
        (0, {"epoch": 9, "metadata_hash": 10}),
    ),
    "streams member without an endpoint: outside tags the null marker is -1": (
        "StreamsGroupMemberMetadata",
        "0000 00 00 02 63 02 68 000003e8 00000001 02 70 ff 01 00",
        (
            0,
            {
                "instance_id": None,
                "rack_id": None,
                "client_id": "c",
                "client_host": "h",
                "rebalance_timeout_ms": 1000,
                "topology_epoch": 1,
                "process_id": "p",
                "user_endpoint": None,
                "client_tags": [],
            },
        ),
    ),
}


@pytest.mark.parametrize(("name", "data", "expected"), VALUES.values(), ids=VALUES)
def test_values_both_ways(name, data, expected):
    data = bytes.fromhex(data)
    version, fields = expected

    assert decode_value(name, data) == expected
    assert encode_value(name, version, fields) == data


def test_keys_both_ways():
    fields = {"group": "g", "topic": "t", "partition": 2}

    assert decode_key(OFFSET_KEY) == RecordKey(1, "OffsetCommit", fields)
    assert encode_key(1, fields) == encode_key("OffsetCommit", fields) == OFFSET_KEY
    assert decode_key(b"\0\0" + OFFSET_KEY[2:]) == RecordKey(0, "LegacyOffsetCommit", fields)


def test_a_record_without_a_value_is_a_tombstone():
    assert decode(KEY_OF_GROUP, None) == Record(2, "GroupMetadata", {"group": "g"}, None, None)


def test_the_legacy_offset_key_accepts_values_of_any_version():
    """Up to 4.0, coordinators read the values of both offset keys in the same way."""
    value = bytes.fromhex("0003 0000000000000007 ffffffff 0000 0000000000000064")

    record = decode(b"\0\0" + OFFSET_KEY[2:], value)

    assert (record.name, record.version) == ("LegacyOffsetCommit", 3)
    assert encode_value(record.type, record.version, record.value) == value


def test_fields_that_a_value_version_lacks_are_left_out():
    fields = {
        "offset": 7,
        "leader_epoch": 5,
        "metadata": "",
        "commit_timestamp": 100,
        "expire_timestamp": 1000,
        "topic_id": TOPIC_ID,
    }

    data = encode_value("OffsetCommit", 2, fields)

    assert data == bytes.fromhex("0002 0000000000000007 0000 0000000000000064")


def test_json_has_base64_for_bytes():
    record = decode(OFFSET_KEY, bytes.fromhex(VALUES["offset v4, topic id and an unknown tag"][1]))

    assert jsonable(record) == {
        "type": "OffsetCommit",
        "key": {"group": "g", "topic": "t", "partition": 2},
        "version": 4,
        "value": {
            "offset": 7,
            "leader_epoch": 5,
            "metadata": "",
            "commit_timestamp": 100,
            "topic_id": TOPIC_ID,
            "unknown_tagged_fields": [[7, "vu8="]],
        },
    }


# key                            error           position  field       reason
BAD_KEYS = """
                                 BadRecord       0         type        needs 2 bytes, 0 left
00                               BadRecord       0         type        needs 2 bytes, 1 left
0012                             UnknownKeyType  0         type        no record type 18 is known
ffff                             UnknownKeyType  0         type        no record type -1 is known
0002                             BadRecord       2         group       needs 2 bytes, 0 left
0002000561                       BadRecord       4         group       needs 5 bytes, 1 left
0002ffff                         BadRecord       2         group       must not be null
0002000161ff                     BadRecord       5         end         1 bytes after the last field
000200024180                     BadRecord       5         group       not UTF-8
00010001670001740000             BadRecord       8         partition   needs 4 bytes, 2 left
"""


@pytest.mark.parametrize("line", BAD_KEYS.strip("\n").splitlines(), ids=str.split)
def test_unreadable_keys(line):
    data, error, position, field, reason = (
        line[:33].strip(),
        line[33:49].strip(),
        line[49:59].strip(),
        line[59:71].strip(),
        line[71:],
    )

    with pytest.raises(BadRecord) as raised:
        decode(bytes.fromhex(data), None)

    bad = raised.value
    assert (type(bad).__name__, str(bad.position)) == (error, position)
    assert (bad.field, bad.reason) == (field, reason)


MEMBER = "0001 6d ffff 0001 63 0001 68 00000bb8 000007d0 00000002 aabb 00000000"
V3 = "0003 0000 00000001 ffff ffff 0000000000000064"
BAD = "0001 ff" + "00" * 29
V4 = "0004 01 00000001 00 00 0000000000000064"

# fmt: off
BAD_VALUES = [
    # value                      position field                reason
    ("0003",                          2,  "protocol_type",         "needs 2 bytes, 0 left"),
    (V3,                              20, "members",               "needs 4 bytes, 0 left"),
    (V3 + "ffffffff",                 20, "members",               "must not be null"),
    (V3 + "00000001" + MEMBER[:-9],   49, "members[0].assignment", "needs 4 bytes, 0 left"),
    (V3 + "00000002" + MEMBER + BAD,  55, "members[1].member_id",  "not UTF-8"),
    (V3 + "00000001" + MEMBER + "00", 53, "end",                   "1 bytes after the last field"),
    (V3 + "7fffffff" + MEMBER,        20, "members",
     "2147483647 elements of 24 bytes or more, 29 left"),
    (V4 + "01",                       18, "tagged fields",         "varint cut short"),
    (V4 + "01 01 07",                 20, "tagged fields",         "varint cut short"),
    (V4 + "01 01 07 02 00",           21, "tagged fields",         "needs 2 bytes, 1 left"),
    (V4 + "ffffffff1f",               17, "members",               "varint of more than 32 bits"),
    (V4 + "ffffffffff01",             17, "members",               "varint of more than 32 bits"),
]
# fmt: on


@pytest.mark.parametrize(
    ("value", "position", "field", "reason"),
    BAD_VALUES,
    ids=[f"{field}: {reason}" for _, _, field, reason in BAD_VALUES],
)
def test_unreadable_values(value, position, field, reason):
    with pytest.raises(BadRecord) as raised:
        decode(KEY_OF_GROUP, bytes.fromhex(value))

    bad = raised.value
    assert type(bad) is BadRecord
    assert (bad.type_name, bad.version) == ("GroupMetadataValue", int(value[:4]))
    assert (bad.position, bad.field, bad.reason) == (position, field, reason)


@pytest.mark.parametrize(
    ("value", "error", "version", "reason"),
    [
        ("", BadRecord, None, "needs 2 bytes, 0 left"),
        ("0005", NewerValueVersion, 5, "not among versions 0 to 4"),
        ("ffff", BadRecord, -1, "not among versions 0 to 4"),
    ],
)
def test_unreadable_versions(value, error, version, reason):
    with pytest.raises(BadRecord) as raised:
        decode(KEY_OF_GROUP, bytes.fromhex(value))

    bad = raised.value
    assert (type(bad), bad.version, bad.reason) == (error, version, reason)
    assert (bad.field, bad.position) == ("version", 0)


BEYOND_INT32 = "2147483648: 'i' format requires -2147483648 <= number <= 2147483647"

# fmt: off
UNWRITABLE = [
    # group        topic   partition   field        reason
    ("g",          "t",    None,       "partition", "None: required argument is not an integer"),
    ("g",          "t",    "2",        "partition", "'2': required argument is not an integer"),
    ("g",          "t",    2 ** 31,    "partition", BEYOND_INT32),
    (None,         "t",    2,          "group",     "None is not a string"),
    (b"g",         "t",    2,          "group",     "b'g' is not a string"),
    ("\ud800",     "t",    2,          "group",     "'\\ud800' cannot be encoded as UTF-8"),
    ("g",          "t" * 32768, 2,     "topic",     "string of 32768 bytes"),
]
# fmt: on


@pytest.mark.parametrize(
    ("group", "topic", "partition", "field", "reason"),
    UNWRITABLE,
    ids=[line[-1] for line in UNWRITABLE],
)
def test_fields_that_cannot_be_written(group, topic, partition, field, reason):
    with pytest.raises(UnwritableFields) as raised:
        encode_key("OffsetCommit", {"group": group, "topic": topic, "partition": partition})

    assert (raised.value.field, raised.value.reason) == (field, reason)


def test_missing_and_unknown_fields_are_unwritable():
    with pytest.raises(UnwritableFields, match="partition at byte 8: missing"):
        encode_key("OffsetCommit", {"group": "g", "topic": "t"})
    with pytest.raises(UnwritableFields, match="unknown field: topik"):
        encode_key("OffsetCommit", {"group": "g", "topik": "t", "partition": 2})


def test_names_and_versions_that_cannot_be_written():
    with pytest.raises(UnknownKeyType, match="no record type OffsetComit is known"):
        encode_key("OffsetComit", {})
    with pytest.raises(NewerValueVersion, match="not among versions 0 to 4"):
        encode_value("GroupMetadata", 5, {})


def test_an_error_message_names_type_version_field_and_position():
    with pytest.raises(BadRecord) as raised:
        decode(KEY_OF_GROUP, bytes.fromhex(V3))

    assert str(raised.value) == (
        "GroupMetadataValue version 3: members at byte 20: needs 4 bytes, 0 left"
    )


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("0002", None, "unreadable bytes"),
        ("0012", None, "unknown key type"),
        ("0002 0001 67", "0005", "newer value version"),
    ],
)
def test_an_unreadable_record_has_a_kind(key, value, kind):
    with pytest.raises(BadRecord) as raised:
        decode(bytes.fromhex(key), value and bytes.fromhex(value))

    assert raised.value.kind == kind


def test_errors_can_be_pickled():
    with pytest.raises(UnknownKeyType) as raised:
        decode_key(b"\0\x12")

    copy = pickle.loads(pickle.dumps(raised.value))

    assert (type(copy), str(copy)) == (UnknownKeyType, str(raised.value))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GroupMetadata", "0003 0000 00000001 ffff ffff 0000000000000064 7fffffff"),
        ("GroupMetadata", V3 + "00000001" + MEMBER[:-23] + "7fffffff"),
        ("OffsetCommit", "0004 0000000000000007 00000005 ffffffff0f"),
        ("OffsetCommit", "0004 0000000000000007 00000005 01 0000000000000064 ffffffff0f"),
        ("OffsetCommit", "0004 0000000000000007 00000005 01 0000000000000064 01 07 ffffffff0f"),
        ("ConsumerGroupTargetAssignmentMember", "0000 02" + "00" * 16 + "ffffffff0f"),
    ],
)
def test_a_length_is_checked_before_memory_is_allocated(name, value):
    data = bytes.fromhex(value)
    tracemalloc.start()

    with pytest.raises(BadRecord):
        decode_value(name, data)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000
