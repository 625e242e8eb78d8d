"""The layout files are complete and consistent, and are parsed correctly."""

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


def test_a_range_of_versions_includes_both_ends():
    assert [version in Versions(1, 3) for version in range(5)] == [False, True, True, True, False]
    assert [version in Versions(1, None) for version in (0, 1, 99)] == [False, True, True]


@pytest.mark.parametrize("suffix", ["Key", "Value"])
def test_every_type_has_a_key_and_a_value(suffix):
    kind = f"coordinator-{suffix.lower()}"
    names = {layout.api_key: layout.name for layout in layouts() if layout.type == kind}

    assert names == {type_: name + suffix for type_, name in TYPES.items()}


def test_versions_of_the_classic_values():
    assert layout("OffsetCommitValue").valid_versions == Versions(0, 4)
    assert layout("GroupMetadataValue").valid_versions == Versions(0, 4)
    assert layout("GroupMetadataValue").flexible_versions == Versions(4, None)


def test_layouts_that_were_replaced_without_a_new_version():
    replaced = {(layout.name, layout.written_until) for layout in layouts() if layout.written_until}

    assert replaced == {
        ("ConsumerGroupPartitionMetadataValue", "3.7"),
        ("ConsumerGroupMemberMetadataValue", "3.7"),
        ("ConsumerGroupTargetAssignmentMemberValue", "3.7"),
        ("ConsumerGroupCurrentMemberAssignmentValue", "3.7"),
        ("ShareGroupPartitionMetadataValue", "3.9"),
        ("ShareGroupMetadataValue", "4.0"),
        ("ShareGroupStatePartitionMetadataValue", "4.0"),
    }


def test_a_name_means_the_current_layout():
    assert layout("ShareGroupMetadataValue").written_until is None


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_each_file_is_named_after_its_layout_and_describes_its_fields(path):
    node = json.loads(path.read_text("utf-8"))
    parsed = parse(node)

    until = f"-{parsed.written_until}" if parsed.written_until else ""
    assert path.stem == parsed.name + until
    assert parsed.about
    assert all(field.about for field in parsed.fields)


def test_a_field_of_a_common_struct_has_the_fields_of_that_struct():
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
