"""What Kafka defines per type of group."""

from coordinator_core.coordinator.group_types import CONVERTING, GROUP_TYPES, MODERN_TYPES
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    ConsumerGroupHeartbeat,
    Heartbeat,
    HeartbeatResponse,
    MemberHeartbeatResponse,
    ShareGroupHeartbeat,
    StreamsGroupHeartbeat,
    StreamsHeartbeatResponse,
)

# fmt: off
TYPES = [
    # name       heartbeat               record of members              assignor   STABLE  UNREVOKED
    ("classic",  Heartbeat,              "GroupMemberMetadata",         None,      None,   None),
    ("consumer", ConsumerGroupHeartbeat, "ConsumerGroupMemberMetadata", "uniform", 0,      1),
    ("share",    ShareGroupHeartbeat,    "ShareGroupMemberMetadata",    "simple",  0,      None),
    ("streams",  StreamsGroupHeartbeat,  "StreamsGroupMemberMetadata",  "sticky",  1,      2),
]
REFUSALS = [
    ("classic",  HeartbeatResponse(Errors.UNKNOWN_MEMBER_ID)),
    ("consumer", MemberHeartbeatResponse(Errors.UNKNOWN_MEMBER_ID)),
    ("share",    MemberHeartbeatResponse(Errors.UNKNOWN_MEMBER_ID)),
    ("streams",  StreamsHeartbeatResponse(error=Errors.UNKNOWN_MEMBER_ID)),
]
# fmt: on


def test_each_type_has_its_request_records_settings_and_states():
    described = [
        (
            each.name,
            each.heartbeat,
            f"{each.record_prefix}GroupMemberMetadata",
            each.default_assignor,
            each.stable_state,
            each.unrevoked_state,
        )
        for each in GROUP_TYPES.values()
    ]

    assert described == TYPES


def test_each_type_refuses_a_heartbeat_with_its_own_answer():
    refused = [(name, each.refusal(Errors.UNKNOWN_MEMBER_ID)) for name, each in GROUP_TYPES.items()]

    assert refused == REFUSALS


def test_only_classic_and_consumer_groups_change_into_each_other():
    assert CONVERTING == ("classic", "consumer")


def test_every_type_but_the_classic_one_has_epochs():
    assert [each.name for each in MODERN_TYPES] == ["consumer", "share", "streams"]
