"""Real groups' process lives, played by our consumers on our coordinator: the same callbacks.

A life is equal if its listener was called the same way, with the same partitions, in the same
order.  Real ids and start times are given; what is left to chance is which of two requests some
milliseconds apart comes first.
"""

import pytest

from tests.core.client.incidents import incidents, play

INCIDENTS = incidents()

# Equal lives where not all are, and the race that went the other way.
RACES = {
    # analytics-6 joins 60 ms after the others have begun to rejoin, in time for them but not here
    "mixed-3.9.1/analytics-cooperative": 5,
    # at the shutdown, 0.4 s between two leaves: the heartbeats in between told the others of one
    "mixed-3.9.1/reports-java": 2,
    # a leave read 4 ms after, not before, the leader's sync: one more generation without orders-2
    "twins-3.9.1/orders-cooperative": 4,
    # a new member's first heartbeat came 25 ms later, after the others' rejoin: no wait of 3 s
    "twins-3.9.1/clicks-cooperative": 9,
    # clicks-8 came 40 ms after the last rejoin, not before it: one rebalance more
    "twins-3.9.1/clicks-static": 16,
    # invoices-2 joined within the initial delay, which began 50 ms later than here: a slow JVM
    "twins-3.9.1/invoices-cooperative": 0,
    # invoices-1 joined after, not before, the others' follow-up had ended
    "twins-4.1.2/invoices-cooperative": 8,
}


@pytest.mark.parametrize("name", INCIDENTS)
def test_real_processes_heard_the_same(name):
    incident = INCIDENTS[name]

    _, played = play(incident)

    equal = [
        [call[:2] for call in life["callbacks"]] == [call[:2] for call in calls]
        for life, calls in zip(incident["lives"], played, strict=True)
    ]
    assert sum(equal) == RACES.get(name, len(equal))


def test_every_incident_is_there():
    lives = [life for incident in INCIDENTS.values() for life in incident["lives"]]

    assert len(INCIDENTS) == 34
    assert len(lives) == 484
    assert sum(len(life["callbacks"]) for life in lives) == 3895


def test_a_callback_that_is_missing_is_found():
    incident = INCIDENTS["mixed-4.1.2/audit-python"]
    incident["lives"][0]["callbacks"].pop()

    _, played = play(incident)

    assert [len(calls) for calls in played] != [len(x["callbacks"]) for x in incident["lives"]]
