"""Which classic assignments an online upgrade takes over; Kafka 4.4.0 and 4.1.1 gave the same
answers."""

import base64
import struct

import pytest

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.scenarios.group_types import AllTypesPlayer
from coordinator_core.scenarios.scenario import given_ids

SUBSCRIPTION = "AAMAAAABAAFh/////wAAAAD///////8="  # to topic a
GROUP = {"group": "g", "client_host": "/127.0.0.1", "instance_id": None}
OF_PROTOCOL = {"protocol_type": "consumer", "protocol_name": "range"}


def assignment(partitions, user_data):
    head = struct.pack(">hih1si", 0, 1, 1, b"a", len(partitions))
    of_topic = head + struct.pack(f">{len(partitions)}i", *partitions)
    size = -1 if user_data is None else len(user_data)
    return base64.b64encode(of_topic + struct.pack(">i", size) + (user_data or b"")).decode()


def join(at_ms, step):
    return GROUP | {
        "at_ms": at_ms, "id": step, "op": "join", "client_id": step, "member": "",
        "session_timeout_ms": 30_000, "rebalance_timeout_ms": 60_000, "protocol_type": "consumer",
        "protocols": [["range", SUBSCRIPTION]], "requires_known_member_id": False, "reason": None,
    }  # fmt: skip


def sync(member, assignments):
    step = {"at_ms": 5000, "id": f"sync-{member}", "op": "sync"}
    of_member = {"member": f"@{member}", "generation": f"@{member}", "assignments": assignments}
    return GROUP | OF_PROTOCOL | step | of_member


def heartbeat(at_ms):
    step = {"at_ms": at_ms, "id": f"beat-{at_ms}", "op": "heartbeat", "member": "@c1"}
    return GROUP | step | {"generation": "@c1"}


def scenario(user_data, steps):
    topic = {"name": "a", "id": "9fd35744-3296-47d1-a563-9a6408268af0", "partitions": 4}
    owned = [["@c1", assignment([0, 1], user_data)], ["@c2", assignment([2, 3], user_data)]]
    upgrade = {
        "at_ms": 40_000, "id": "upgrade", "op": "consumer_heartbeat", "group": "g",
        "member": "10fd9090-95d2-49a4-abc3-13940000389a", "member_epoch": 0,
        "rebalance_timeout_ms": 60_000, "topics": ["a"], "owned": [],
    }  # fmt: skip
    return {
        "name": "upgrade",
        "config": {"group_initial_rebalance_delay_ms": 1000},
        "steps": [
            {"at_ms": 0, "id": "topics", "op": "metadata", "topics": [topic]},
            join(1000, "c1"), join(1010, "c2"), sync("c1", owned), sync("c2", []), *steps, upgrade,
        ],
    }  # fmt: skip


KILLED = [heartbeat(14_000), heartbeat(24_000), heartbeat(34_000), join(36_000, "c3")]
STABLE = [
    each | {"id": f"{each['id']}-{member}", "member": f"@{member}", "generation": f"@{member}"}
    for each in KILLED[:-1]
    for member in ("c1", "c2")
]


@pytest.mark.parametrize("era", ["4.1", "4.4"])
@pytest.mark.parametrize(
    ("user_data", "steps", "error"),
    [
        pytest.param(None, STABLE, "NONE", id="assignments of Kafka's Java assignors"),
        pytest.param(b"", STABLE, "NONE", id="empty user data"),
        pytest.param(None, KILLED, "NONE", id="a member that joins has no assignment yet"),
        pytest.param(b"\0\1", STABLE, "GROUP_ID_NOT_FOUND", id="user data would be lost"),
        pytest.param(b"\0\1", KILLED, "GROUP_ID_NOT_FOUND", id="also during a rebalance"),
    ],
)
def test_an_upgrade_takes_over_assignments_without_user_data(era, user_data, steps, error):
    made_ids = given_ids(["id-1", "id-2", "id-3"])
    events = AllTypesPlayer(scenario(user_data, steps), ERAS[era], made_ids).play("")

    assert [each["error"] for each in events if each.get("to") == "upgrade"] == [error]
