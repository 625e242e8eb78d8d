"""Differences between a broker and the engine, named by kind."""

import pytest

from tools.broker_traces.__main__ import kind_of
from tools.compare_broker_traces import BrokerDifference

BEAT = {"op": "heartbeat", "error": "NONE", "at_ms": 5}
LINE = (
    "INFO [GroupCoordinator 0]: Stabilized group delete-group generation 12 (__consumer_offsets-3)"
)
KINDS = [
    (
        "a1",
        BEAT,
        BEAT | {"error": "UNKNOWN_MEMBER_ID"},
        "heartbeat: error NONE for UNKNOWN_MEMBER_ID",
    ),
    ("a1", BEAT, BEAT | {"at_ms": 900}, "heartbeat: another time"),
    ("a1", "no response", BEAT, "no answer for one"),
    ("a1", BEAT, "no response", "an answer for none"),
    (
        "line 4",
        [LINE],
        [],
        "line: INFO [GroupCoordinator ]: Stabilized group G generation  (__consumer_offsets-)",
    ),
    ("record 1", None, (5, 3), "no record for one"),
    ("record 1", (5, 3), None, "a record for none"),
]


@pytest.mark.parametrize(("where", "broker", "engine", "kind"), KINDS)
def test_a_difference_has_a_kind(where, broker, engine, kind):
    assert kind_of(BrokerDifference("delete-group", where, broker, engine)) == kind
