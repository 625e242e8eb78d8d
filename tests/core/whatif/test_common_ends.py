"""Processes that may have stopped at the same moment are taken to have stopped together."""

from dataclasses import replace

from coordinator_core.incident.evidence import RecordedMember
from coordinator_core.lives import ConsumerProcess, Freeze, ProcessLife, TimeEstimate
from coordinator_core.whatif.common_ends import with_common_ends

MEMBER = RecordedMember(
    member_id="m",
    instance_id=None,
    client_id="c",
    client_host="/host",
    rebalance_timeout_ms=30_000,
    session_timeout_ms=10_000,
    subscription=b"",
    assignment=b"",
)


def life(earliest_ms, latest_ms, *, killed=True, freezes=()):
    ended = TimeEstimate((earliest_ms + latest_ms) // 2, earliest_ms, latest_ms)
    return ProcessLife(
        client_id="c",
        client_host="/host",
        member=MEMBER,
        member_ids=("m",),
        started=TimeEstimate.exactly(0),
        predates_evidence=False,
        ended=ended,
        killed=killed,
        slow_polls=(),
        first_generation=1,
        last_generation=2,
        confidence=0.7,
        evidence="",
        freezes=freezes,
    )


def process(name, *lives):
    return ConsumerProcess(name, None, lives)


def ends(processes):
    return [tuple(life.ended) for each in with_common_ends(processes) for life in each.lives]


def test_a_lost_host_ends_its_processes_at_one_time():
    """Each end is known to a heartbeat interval; the host was lost in the time common to all."""
    lost = [
        process("a", life(45_000, 48_000)),
        process("b", life(42_100, 45_100)),
        process("c", life(43_000, 46_000)),
    ]

    assert ends(lost) == [(45_050, 45_000, 45_100)] * 3


def test_ends_without_a_common_moment_stay():
    apart = [process("a", life(0, 3000)), process("b", life(3001, 6001))]

    assert ends(apart) == [(1500, 0, 3000), (4501, 3001, 6001)]


def test_three_ends_in_a_row_have_no_moment_in_common():
    """The second could have been with the first or with the third: the first two end together."""
    row = [
        process("a", life(0, 3000)),
        process("b", life(2000, 5000)),
        process("c", life(4000, 7000)),
    ]

    assert ends(row) == [(2500, 2000, 3000), (2500, 2000, 3000), (5500, 4000, 7000)]


def test_a_process_that_left_keeps_its_time():
    stopped = [process("a", life(1000, 1000, killed=False)), process("b", life(0, 3000))]

    assert ends(stopped) == [(1000, 1000, 1000), (1500, 0, 3000)]


def test_a_freeze_and_a_kill_can_have_one_cause():
    back = TimeEstimate.exactly(20_000)
    freeze = Freeze(TimeEstimate(2500, 1000, 4000), back)
    frozen = replace(life(90_000, 90_000, killed=False), freezes=(freeze,))

    narrowed, killed = with_common_ends([process("a", frozen), process("b", life(0, 3000))])

    assert narrowed.lives[0].freezes == (Freeze(TimeEstimate(2000, 1000, 3000), back),)
    assert tuple(killed.lives[0].ended) == (2000, 1000, 3000)
