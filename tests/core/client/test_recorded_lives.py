"""Recorded process lives, played with the model's clients of the consumer protocol.

The recordings are of unmodified Kafka 4.4.0 with librdkafka 2.16.0 and kafka-clients 4.4.0:
deployments, kills, early returns, a poll that is too late, static members that are refused.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from bench.twins.played import lives_of, played_calls, read, recorded_calls
from coordinator_core.simulation.played_lives import played

DATA = Path(__file__).parents[2] / "data" / "clients" / "consumer-protocol"
GROUPS = {
    "orders-consumer-default": "librdkafka",
    "invoices-consumer-session": "java",
    "invoices-consumer-static": "java",
}


@cache
def both(group):
    """The recording, and the group as played."""
    recording = read(DATA / GROUPS[group])
    return recording, played(lives_of(recording, group), seed=1)


@pytest.mark.parametrize("group", GROUPS)
def test_every_life_has_the_recorded_callbacks_in_the_recorded_order(group):
    recording, result = both(group)

    ours, end_ms = played_calls(result), recording.truth["t0_wall_ms"] + 203_000
    for life, calls in recorded_calls(recording, group).items():
        expected = [call[:2] for call in calls if call[2] <= end_ms]
        assert [call[:2] for call in ours.get(life, [])] == expected, life


@pytest.mark.parametrize("group", GROUPS)
def test_figures_are_near_the_recorded_ones(group):
    recording, result = both(group)
    true, measures = recording.truth["groups"][group]["window"], result.measures

    assert measures.rebalances == true["rebalances"]
    assert measures.moved_partitions == true["partitions_moved"]
    assert measures.static_refused == (true["static_joins_refused"] or 0)
    assert measures.not_stable_ms == pytest.approx(true["not_stable_ms"], rel=0.05)
    assert measures.unowned_partition_ms == pytest.approx(true["unowned_partition_ms"], rel=0.1)
