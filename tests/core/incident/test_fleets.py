"""Simulated fleets under random faults: takeovers, failed appends, stopped brokers."""

import pytest

from coordinator_core.incident import incarnations, replay
from coordinator_core.simulation.random_fleets import random_fleet
from tests.core.incident.incident_rows import of_fleet


def replays(seed, eras, *, with_log=True):
    evidence = of_fleet(random_fleet(seed, eras=eras, minutes=6))
    for group in evidence.groups():
        events = evidence.events.get(group, []) if with_log else []
        yield replay(incarnations(group, events, evidence.records[group]))


@pytest.mark.parametrize(("era", "share"), [("2.5", 0.75), ("3.9", 0.95), ("4.1", 0.95)])
def test_most_generations_come_again(era, share):
    """The rest are of members in no record: nothing tells of their session timeouts, and up to 2.5
    no record tells who took a static member's place.
    """
    found = [each for seed in range(6) for each in replays(seed, (era,))]
    generations = [each for replayed in found for each in replayed.generations]

    diverged = [each for each in generations if not each.is_reproduced]
    assert {replayed.era.name for replayed in found} == {era}
    assert len(generations) > 40
    assert 1 - len(diverged) / len(generations) > share, [e.outcome.difference for e in diverged]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("era", ["0.9", "0.10", "2.0"])
def test_old_logs_are_played_whatever_they_leave_out(era, seed):
    """Up to 2.0 a line gives no reason and joins have none: what diverges says in what."""
    for found in replays(seed, (era,)):
        for each in found.generations:
            assert each.is_reproduced or each.outcome.difference.evidence
