"""Subscriptions, assignments and sticky user data, byte by byte, readable and unreadable."""

import pytest

from coordinator_core.records import (
    Assignment,
    BadRecord,
    StickyUserData,
    Subscription,
    UnwritableFields,
    decode_assignment,
    decode_cooperative_sticky_user_data,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
    encode_cooperative_sticky_user_data,
    encode_sticky_user_data,
    encode_subscription,
)

TOPICS = "00000002 0001 61 0001 62"
OWNED = "00000001 0001 61 00000002 00000000 00000003"

SUBSCRIPTIONS = {
    "v0, no user data": (
        f"0000 {TOPICS} ffffffff",
        Subscription(0, ["a", "b"]),
    ),
    "v0, empty user data is not null": (
        f"0000 {TOPICS} 00000000",
        Subscription(0, ["a", "b"], b""),
    ),
    "v1, owned partitions (KIP-429)": (
        f"0001 {TOPICS} ffffffff {OWNED}",
        Subscription(1, ["a", "b"], None, [("a", [0, 3])]),
    ),
    "v2, generation (KIP-792)": (
        f"0002 {TOPICS} ffffffff {OWNED} 00000007",
        Subscription(2, ["a", "b"], None, [("a", [0, 3])], 7),
    ),
    "v3, rack (KIP-881)": (
        f"0003 {TOPICS} 00000001 ff 00000000 ffffffff 0001 72",
        Subscription(3, ["a", "b"], b"\xff", [], -1, "r"),
    ),
    "v3, no rack": (
        "0003 00000000 ffffffff 00000000 ffffffff ffff",
        Subscription(3, []),
    ),
}

ASSIGNMENTS = {
    "v0": (f"0000 {OWNED} ffffffff", Assignment(0, [("a", [0, 3])])),
    "v1": (f"0001 {OWNED} ffffffff", Assignment(1, [("a", [0, 3])])),
    "v2": (f"0002 {OWNED} ffffffff", Assignment(2, [("a", [0, 3])])),
    "v3": (f"0003 {OWNED} 00000002 beef", Assignment(3, [("a", [0, 3])], b"\xbe\xef")),
    "nothing": ("0003 00000000 ffffffff", Assignment(3, [])),
    "a topic twice": (
        "0000 00000002 0001 61 00000001 00000000 0001 61 00000001 00000003 ffffffff",
        Assignment(0, [("a", [0]), ("a", [3])]),
    ),
}


@pytest.mark.parametrize(("data", "expected"), SUBSCRIPTIONS.values(), ids=SUBSCRIPTIONS)
def test_subscriptions_both_ways(data, expected):
    assert decode_subscription(bytes.fromhex(data)) == expected
    assert encode_subscription(expected) == bytes.fromhex(data)


@pytest.mark.parametrize(("data", "expected"), ASSIGNMENTS.values(), ids=ASSIGNMENTS)
def test_assignments_both_ways(data, expected):
    assert decode_assignment(bytes.fromhex(data)) == expected
    assert encode_assignment(expected) == bytes.fromhex(data)


def test_a_newer_version_is_read_as_the_newest_known_one_and_further_bytes_are_ignored():
    data = bytes.fromhex("0063 00000001 0001 61 ffffffff 00000000 00000007 ffff 667574757265")

    assert decode_subscription(data) == Subscription(0x63, ["a"], None, [], 7, None)


def test_a_newer_version_is_written_as_the_newest_known_one():
    newer = Subscription(0x63, ["a"], None, [], 7, None)

    assert encode_subscription(newer) == bytes.fromhex(
        "0003 00000001 0001 61 ffffffff 00000000 00000007 ffff"
    )


def test_fields_that_a_version_lacks_are_left_out():
    full = Subscription(0, ["a"], None, [("a", [0])], 7, "r")

    assert encode_subscription(full) == bytes.fromhex("0000 00000001 0001 61 ffffffff")


FIRST = "assigned_partitions[0].partitions"

# fmt: off
BAD_SUBSCRIPTIONS = [
    # blob                    version  field               reason
    ("",                      None,    "version",          "needs 2 bytes, 0 left"),
    ("ffff 00000000",         -1,      "version",          "a version must not be negative"),
    ("0000 ffffffff",         0,       "topics",           "must not be null"),
    ("0003 00000000ffffffff", 3,       "owned_partitions", "needs 4 bytes, 0 left"),
]
BAD_ASSIGNMENTS = [
    ("",                               None, "version", "needs 2 bytes, 0 left"),
    ("0001 00000001 0001 61 ffffffff", 1,    FIRST,     "must not be null"),
]
# fmt: on


@pytest.mark.parametrize(
    ("read", "blob", "version", "field", "reason"),
    [
        *((decode_subscription, *line) for line in BAD_SUBSCRIPTIONS),
        *((decode_assignment, *line) for line in BAD_ASSIGNMENTS),
    ],
)
def test_unreadable_blobs(read, blob, version, field, reason):
    with pytest.raises(BadRecord) as raised:
        read(bytes.fromhex(blob))

    bad = raised.value
    assert (bad.version, bad.field, bad.reason) == (version, field, reason)


def test_unwritable_partitions():
    with pytest.raises(UnwritableFields, match=r"assigned_partitions\[0\]\.partitions\[1\] at"):
        encode_assignment(Assignment(0, [("a", [0, 2**31])]))


STICKY = "00000001 0001 61 00000002 00000000 00000003"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(STICKY, StickyUserData([("a", [0, 3])], None), id="version 0: no generation"),
        pytest.param(STICKY + "00000007", StickyUserData([("a", [0, 3])], 7), id="version 1"),
        pytest.param("00000000 ffffffff", StickyUserData([], -1), id="version 1, nothing owned"),
    ],
)
def test_sticky_user_data_both_ways(data, expected):
    assert decode_sticky_user_data(bytes.fromhex(data)) == expected
    assert encode_sticky_user_data(expected) == bytes.fromhex(data)


def test_sticky_user_data_unreadable_in_both_versions():
    with pytest.raises(BadRecord, match=r"StickyAssignorUserData version 0: previous_assignment"):
        decode_sticky_user_data(bytes.fromhex("00000001 0001 61"))


def test_cooperative_sticky_user_data_is_a_generation():
    assert decode_cooperative_sticky_user_data(bytes.fromhex("00000007")) == 7
    assert encode_cooperative_sticky_user_data(7) == bytes.fromhex("00000007")
    with pytest.raises(BadRecord, match="generation at byte 0: needs 4 bytes, 0 left"):
        decode_cooperative_sticky_user_data(b"")
