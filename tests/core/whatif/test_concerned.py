"""Which processes cause a group's rebalances, and who bears them."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from coordinator_core.lives import ConsumerProcess, SlowPoll, TimeEstimate
from coordinator_core.whatif.concerned import concerned
from coordinator_core.whatif.handovers import Consumption
from tests.core.whatif.test_limits import JAVA, group

ALL = "borne by all members, which revoke all partitions in each rebalance"


def life(begin_s, end_s=None, **values):
    """A life of a process; it ended by a stop."""
    (process,) = group(JAVA).processes
    return replace(
        process.lives[0],
        started=TimeEstimate.exactly(1000 * begin_s),
        ended=None if end_s is None else TimeEstimate.exactly(1000 * end_s),
        **values,
    )


def of(*lives_of_processes, instance_id=None, **values):
    """The text of a group with processes p1, p2, ... that have these lives."""
    processes = [
        ConsumerProcess(f"p{number}", instance_id, tuple(lives))
        for number, lives in enumerate(lives_of_processes, 1)
    ]
    return concerned(SimpleNamespace(**vars(group(JAVA)) | values | {"processes": processes}))


RUNS = [life(0)]
RESTARTED = [life(0, 300), life(302)]
KILLED = [life(0, 300, killed=True), life(310)]
SLOW = [life(0, slow_polls=(SlowPoll(TimeEstimate.exactly(9000), None, 1, ""),))]


@pytest.mark.parametrize(
    ("lives", "causes"),
    [
        ([RUNS, RUNS], ""),
        ([RUNS, RUNS, RESTARTED], "caused by p3 (1 restart); "),
        ([RUNS, KILLED, SLOW], "caused by p2 (1 expired session), p3 (1 slow poll); "),
        ([RUNS, [life(400)], [life(0, 500)]], "caused by p2 (1 start), p3 (1 stop); "),
        (
            [RESTARTED, RESTARTED, RUNS, [life(0, 400), life(402)]],
            "caused by 1 rolling deployment; ",
        ),
        # The group is shut down, so no process is named.
        ([[life(0, 800)], [life(0, 810)]], ""),
    ],
)
def test_the_processes_that_cause_rebalances(lives, causes):
    text = of(*lives)

    assert text.startswith(causes or ALL)
    assert text.endswith(ALL)


def test_static_members_restart_without_a_rebalance():
    assert of(RESTARTED, RUNS, instance_id="i") == ALL


def test_members_that_keep_their_partitions_bear_nothing():
    pauses = Consumption({}, 5000, pauses_ms={"a": 1000, "b": 30_000, "c": 0})

    assert of(RUNS, assignors=("cooperative-sticky",), consumption=pauses) == (
        "borne by members whose partitions move;"
        " pauses of topics (partition-seconds): b (30 s), a (1 s)"
    )
