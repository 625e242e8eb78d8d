"""Values that Spark sends to its workers, and exceptions that come back from the core."""

import copy
import pickle

import pytest

from coordinator_core.client import LIBRARIES, Consumer, ConsumerConfig
from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.protocol.errors import CoordinatorBug, Errors
from coordinator_core.protocol.messages import Heartbeat, HeartbeatResponse, Respond
from coordinator_core.records import BadRecord, decode_assignment
from coordinator_core.scenarios.scenario import derived_ids
from coordinator_core.simulation import fleet_of
from coordinator_core.simulation.random_fleets import random_fleet
from coordinator_core.whatif import GRID, SettingsChange

FLEET = fleet_of(random_fleet(1))
HEARTBEAT = Heartbeat("beat", "group", "member", 1)
VALUES = {
    "a fleet": FLEET,
    "the settings of a sweep": GRID,
    "a request": HEARTBEAT,
    "an effect": Respond("beat", HeartbeatResponse(Errors.UNKNOWN_MEMBER_ID)),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_a_copy_equals_its_original(value):
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value


def test_the_fields_of_settings_cannot_be_set():
    with pytest.raises(AttributeError):
        SettingsChange().membership = "static"
    with pytest.raises(AttributeError):
        CoordinatorConfig().offsets_topic_partitions = 2


def test_unreadable_bytes_raise_bad_record():
    with pytest.raises(BadRecord):
        decode_assignment(b"\x00")


def test_time_that_runs_backwards_is_a_bug():
    consumer = Consumer(ConsumerConfig(group_id="g", client_id="c"), LIBRARIES["java-4.1"])
    consumer.poll(2000)

    with pytest.raises(CoordinatorBug, match="time runs backwards: 2000 -> 1000"):
        consumer.advance(1000)


def test_an_engine_answers_with_values():
    coordinator = Coordinator(CoordinatorConfig(), ERAS["4.1"], derived_ids())

    assert coordinator.handle(HEARTBEAT, 0) == [
        Respond("beat", HeartbeatResponse(Errors.UNKNOWN_MEMBER_ID))
    ]
