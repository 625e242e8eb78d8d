"""The engine's own record writer equals the codec of coordinator_core.records."""

from hypothesis import given
from hypothesis import strategies as st

from coordinator_core.coordinator.classic.group import ClassicGroup, ClassicMember
from coordinator_core.coordinator.classic.group_records import group_record, new_group_record
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.coordinator.offset_records import offset_record
from coordinator_core.coordinator.offsets import CommittedOffset, OffsetStore, ScalaPartitions
from coordinator_core.jvm.java_maps import HashMapKeys
from coordinator_core.records import encode_key, encode_value

names = st.text(max_size=12).filter(lambda text: text.isprintable())
maybe_names = st.none() | names
members = st.lists(
    st.tuples(names, maybe_names, names, names, st.binary(max_size=9), st.binary(max_size=9)),
    max_size=4,
    unique_by=lambda fields: fields[0],
)
eras = st.sampled_from(sorted(ERAS))
numbers = st.integers(0, 2**31 - 1)


@given(eras, names, names, st.integers(0, 2**31 - 1), members, st.integers(0, 2**62))
def test_group_records(name, group_id, protocol, generation, rows, timestamp_ms):
    era = ERAS[name]
    group = ClassicGroup(group_id, 0, timestamp_ms, HashMapKeys(), OffsetStore(ScalaPartitions()))
    group.state, group.generation = GroupState.STABLE, generation
    group.protocol_type, group.protocol = "consumer", protocol
    for member_id, instance_id, client_id, host, metadata, _ in rows:
        protocols = ((protocol, metadata),)
        group.add(
            ClassicMember(
                member_id=member_id,
                instance_id=instance_id,
                client_id=client_id,
                client_host=host,
                rebalance_timeout_ms=5,
                session_timeout_ms=7,
                protocols=protocols,
            ),
            None,
        )

    record = group_record(era, group, {row[0]: row[5] for row in rows})

    by_id = {row[0]: row for row in rows}
    fields = {
        "protocol_type": "consumer",
        "generation": generation,
        "protocol": protocol,
        "leader": rows[0][0] if rows else None,
        "current_state_timestamp": timestamp_ms,
        "members": [
            {
                "member_id": m.member_id,
                "group_instance_id": m.instance_id,
                "client_id": m.client_id,
                "client_host": m.client_host,
                "rebalance_timeout": 5,
                "session_timeout": 7,
                "subscription": by_id[m.member_id][4],
                "assignment": by_id[m.member_id][5],
            }
            for m in group.in_order()
        ],
    }
    value = _value("GroupMetadata", era.group_value_version, fields)
    assert record == (encode_key("GroupMetadata", {"group": group_id}), value)


@given(eras, names, names, numbers, st.integers(-1, 2**62), names, st.none() | numbers)
def test_offset_records(name, group_id, topic, partition, offset, metadata, expire_ms):
    era = ERAS[name]
    committed = CommittedOffset(offset, metadata, 12345, expire_ms)

    record = offset_record(era, group_id, (topic, partition), committed)

    version = era.offset_value_version if expire_ms is None else 1
    fields = {
        "offset": offset,
        "leader_epoch": -1,
        "metadata": metadata,
        "commit_timestamp": 12345,
        "expire_timestamp": -1 if expire_ms is None else expire_ms,
    }
    key = encode_key("OffsetCommit", {"group": group_id, "topic": topic, "partition": partition})
    assert record == (key, _value("OffsetCommit", version, fields))


def _value(name, version, fields):
    """The value in this version, without fields that it lacks."""
    missing = {
        "GroupMetadata": {
            0: {"current_state_timestamp", "group_instance_id", "rebalance_timeout"},
            1: {"current_state_timestamp", "group_instance_id"},
        },
        "OffsetCommit": {1: {"leader_epoch"}, 3: {"expire_timestamp"}, 4: {"expire_timestamp"}},
    }[name].get(version, set())
    kept = {key: value for key, value in fields.items() if key not in missing}
    if "members" in kept:
        kept["members"] = [
            {key: value for key, value in member.items() if key not in missing}
            for member in kept["members"]
        ]
    return encode_value(name, version, kept)


def test_a_new_group_is_written_empty_in_generation_0():
    group = ClassicGroup("g", 0, 99, HashMapKeys(), OffsetStore(ScalaPartitions()))

    _, value = new_group_record(group)

    assert value == bytes.fromhex("0003 0000 00000000 ffff ffff 0000000000000063 00000000")
