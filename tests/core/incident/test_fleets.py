"""Simulated fleets under random faults: takeovers, failed appends, stopped brokers."""

import pytest

from coordinator_core.incident import incarnations, replay
from coordinator_core.simulation.random_fleets import random_fleet
from tests.core.incident.incident_rows import of_fleet

pytestmark = pytest.mark.slow


def replays(seed, eras, *, with_log=True):
    evidence = of_fleet(random_fleet(seed, eras=eras, minutes=6))
    for group in evidence.groups():
        events = evidence.events.get(group, []) if with_log else []
        yield replay(incarnations(group, events, evidence.records[group]))


@pytest.mark.parametrize(("era", "share"), [("2.5", 0.75), ("3.9", 0.95), ("4.1", 0.95)])
def test_most_generations_are_reproduced(era, share):
    """The others have members without a record, whose session timeouts are unknown; up to 2.5 no
    record shows which member replaced a static member.
    """
    results = [each for seed in range(6) for each in replays(seed, (era,))]
    generations = [each for result in results for each in result.generations]

    diverged = [each for each in generations if not each.is_reproduced]
    assert {result.era.name for result in results} == {era}
    assert len(generations) > 40
    assert 1 - len(diverged) / len(generations) > share, [e.comparison.divergence for e in diverged]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("era", ["0.9", "0.10", "2.0"])
def test_old_logs_with_fewer_lines_are_replayed(era, seed):
    """Up to 2.0 starts have no reason and joins no line; every divergence has its evidence."""
    for result in replays(seed, (era,)):
        for each in result.generations:
            assert each.is_reproduced or each.comparison.divergence.evidence
