"""The broker's era and initial rebalance delay, inferred from its records and log."""

import pytest

from coordinator_core.incident.broker_settings import infer_era, initial_wait_ms
from coordinator_core.incident.evidence import Incarnation, LogEvent, MetadataRecord


def record(version, generation=1):
    return MetadataRecord(
        {
            "topic_partition": "__consumer_offsets-0",
            "log_offset": 0,
            "at_ms": 0,
            "value_version": version,
            "generation": generation,
            "protocol_type": "consumer",
            "protocol": None,
            "leader": None,
            "state_timestamp_ms": None,
            "members": [],
        }
    )


def start(reason):
    return LogEvent(
        seq=1, at_ms=0, event="REBALANCE_START", where="log:0", generation=0, reason=reason
    )


# value versions of group records and of commits, and a logged reason -> era
ERAS = [
    ((0,), (), None, "0.9"),
    ((1,), (), None, "2.0"),
    ((2,), (), None, "2.2"),
    ((3,), (), None, "3.9"),
    ((3,), (3,), None, "3.9"),
    ((3,), (4,), None, "4.1"),
    ((3,), (), "Adding new member m with group instance id Some(i)", "2.5"),
    ((3,), (), "Adding new member m with group instance id None; client reason: x", "3.9"),
    ((3,), (), "removing member m on heartbeat expiration.", "4.1"),
    ((3,), (), "explicit `LeaveGroup` request for (m) members.", "4.1"),
]


@pytest.mark.parametrize(("versions", "commits", "reason", "era"), ERAS)
def test_era(versions, commits, reason, era):
    events = (start(reason),) if reason else ()
    life = Incarnation("g", 1, events, tuple(map(record, versions)))

    assert infer_era([life], commits).name == era


def test_a_record_of_generation_0_is_of_the_java_coordinator():
    assert infer_era([Incarnation("g", 1, (), (record(3, generation=0),))]).name == "4.1"


# delay, rebalance timeout, joins after the first join -> wait of a new group in ms (KIP-134)
WAITS = [
    (3000, 60_000, [], 3000),
    (3000, 60_000, [100], 6000),
    (3000, 60_000, [3000], 3000),
    (3000, 60_000, [100, 3100], 9000),
    (3000, 60_000, [100, 6100], 6000),
    (3000, 5000, [100, 3100], 5000),
    (3000, 3000, [100], 3000),
    (0, 60_000, [100], 0),
]


@pytest.mark.parametrize(("delay", "timeout", "joins", "waits"), WAITS)
def test_initial_delay(delay, timeout, joins, waits):
    assert initial_wait_ms(delay, timeout, joins) == waits
