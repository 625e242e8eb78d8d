"""The layout files: complete, of one shape, and read as they stand."""

import json

import pytest

from schemas.record_layouts import FOLDER, Versions, layout, layouts, parse, versions

TYPES = {
    0: "LegacyOffsetCommit",
    1: "OffsetCommit",
    2: "GroupMetadata",
    3: "ConsumerGroupMetadata",
    4: "ConsumerGroupPartitionMetadata",
    5: "ConsumerGroupMemberMetadata",
    6: "ConsumerGroupTargetAssignmentMetadata",
    7: "ConsumerGroupTargetAssignmentMember",
    8: "ConsumerGroupCurrentMemberAssignment",
    9: "ShareGroupPartitionMetadata",
    10: "ShareGroupMemberMetadata",
    11: "ShareGroupMetadata",
    12: "ShareGroupTargetAssignmentMetadata",
    13: "ShareGroupTargetAssignmentMember",
    14: "ShareGroupCurrentMemberAssignment",
    15: "ShareGroupStatePartitionMetadata",
    16: "ConsumerGroupRegularExpression",
    17: "StreamsGroupMetadata",
    19: "StreamsGroupMemberMetadata",
    20: "StreamsGroupTargetAssignmentMetadata",
    21: "StreamsGroupTargetAssignmentMember",
    22: "StreamsGroupCurrentMemberAssignment",
    23: "StreamsGroupTopology",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", Versions(3, 3)),
        ("0-4", Versions(0, 4)),
        ("2+", Versions(2, None)),
        ("none", None),
    ],
)
def test_versions(text, expected):
    assert versions(text) == expected


def test_a_range_of_versions_has_its_ends():
    assert [version in Versions(1, 3) for version in range(5)] == [False, True, True, True, False]
    assert [version in Versions(1, None) for version in (0, 1, 99)] == [False, True, True]


@pytest.mark.parametrize("suffix", ["Key", "Value"])
def test_every_type_has_a_key_and_a_value(suffix):
    kind = f"coordinator-{suffix.lower()}"
    found = {layout.api_key: layout.name for layout in layouts() if layout.type == kind}

    assert found == {type_: name + suffix for type_, name in TYPES.items()}


def test_versions_of_the_classic_values():
    assert layout("OffsetCommitValue").valid_versions == Versions(0, 4)
    assert layout("GroupMetadataValue").valid_versions == Versions(0, 4)
    assert layout("GroupMetadataValue").flexible_versions == Versions(4, None)


def test_layouts_that_were_replaced_without_a_new_version():
    found = {(layout.name, layout.written_until) for layout in layouts() if layout.written_until}

    assert found == {
        ("ConsumerGroupPartitionMetadataValue", "3.7"),
        ("ConsumerGroupMemberMetadataValue", "3.7"),
        ("ConsumerGroupTargetAssignmentMemberValue", "3.7"),
        ("ConsumerGroupCurrentMemberAssignmentValue", "3.7"),
        ("ShareGroupPartitionMetadataValue", "3.9"),
        ("ShareGroupMetadataValue", "4.0"),
        ("ShareGroupStatePartitionMetadataValue", "4.0"),
    }


def test_a_name_alone_means_the_layout_of_today():
    assert layout("ShareGroupMetadataValue").written_until is None


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_each_file_is_named_after_its_layout_and_says_what_it_is(path):
    node = json.loads(path.read_text("utf-8"))
    found = parse(node)

    until = f"-{found.written_until}" if found.written_until else ""
    assert path.stem == found.name + until
    assert found.about
    assert all(field.about for field in found.fields)


def test_fields_of_a_common_struct_are_those_of_each_field_of_that_type():
    members = layout("GroupMetadataValue").fields[-1]

    assert (members.name, members.is_array, members.element_type) == (
        "members",
        True,
        "MemberMetadata",
    )
    assert [field.name for field in members.fields] == [
        "memberId",
        "groupInstanceId",
        "clientId",
        "clientHost",
        "rebalanceTimeout",
        "sessionTimeout",
        "subscription",
        "assignment",
    ]
