"""The runner around another version of Kafka: which one is tried, and kinds of difference."""

from tools.differential.new_kafka import kind_of, runners
from tools.differential.traces import TraceDifference


def test_the_runner_of_the_nearest_era_comes_first():
    assert runners("4.5.0")[:3] == ["4.4-all-types", "4.3-all-types", "4.2-all-types"]
    assert runners("4.2.0")[:2] == ["4.2-all-types", "4.1.2-all-types"]
    assert runners("3.7.1") == ["3.9", "2.5"]
    assert runners("2.6.3") == ["2.5", "3.9"]


def test_a_kind_of_difference_names_records_answers_and_states():
    bumped = {"at_ms": 5, "event": "record", "key": "AAMAAWc=", "value": "AAAAAAABAA=="}
    left = {"at_ms": 5, "event": "response", "to": "s", "op": "leave", "error": "NONE"}
    state = {"at_ms": 5, "event": "state", "group": "g", "type": "classic", "state": "Empty"}

    assert kind_of(TraceDifference(5, [bumped, state, left], [left])) == (
        "Kafka ConsumerGroupMetadata, state Empty; engine nothing"
    )
    assert kind_of(TraceDifference(5, [], [left])) == "Kafka nothing; engine leave NONE"
