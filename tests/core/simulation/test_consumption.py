"""What applications of simulated processes handle, and what is handled again."""

from collections import defaultdict

import pytest

from coordinator_core.simulation import TruthLine, fleet_of, simulate
from coordinator_core.simulation.consumption import Handled, SimulatedApplication

START_MS = 1_795_161_600_000
A, B = ("orders", 0), ("orders", 1)
RATE = 20  # number of records per second and partition


def application(handle_ms, limit=None):
    ended = []
    return ended, SimulatedApplication(
        handle_ms=handle_ms,
        produced=lambda partition, now_ms: now_ms * RATE // 1000,
        limit=lambda partition, position, now_ms: limit if partition == A else None,
        ended=ended.append,
        now_ms=0,
    )


@pytest.mark.parametrize(
    ("handle_ms", "fetched", "limit", "expected"),
    [
        # rule: all produced records are handled at once; given: 10 s at 20 records per second
        (0, {A: 0, B: 150}, None, {A: 200, B: 200}),
        # rule: one thread takes one record of each partition in turn; given: time for 100 records
        (100, {A: 0, B: 0}, None, {A: 50, B: 50}),
        # rule: a partition without work leaves its turns to the others
        (100, {A: 0, B: 190}, None, {A: 90, B: 200}),
        # rule: an obstacle stops its own partition only
        (0, {A: 0, B: 0}, (30, False), {A: 30, B: 200}),
        (100, {A: 0, B: 0}, (30, False), {A: 30, B: 70}),
    ],
)
def test_positions_after_ten_seconds(handle_ms, fetched, limit, expected):
    _, one = application(handle_ms, limit)
    one.have(fetched, 0)

    assert one.handle(10_000) == expected


def test_nothing_is_handled_while_the_process_rests():
    _, one = application(0)
    one.have({A: 0}, 0)
    one.handle(1000)
    one.rest(1500)

    assert one.handle(5000) == {A: 20}
    one.go_on(6000)
    assert one.handle(6000) == {A: 20}
    assert one.handle(6050) == {A: 30}  # These are the records produced before the pause.
    assert one.handle(6100) == {A: 122}


def test_a_partition_that_was_given_up_and_got_back_begins_at_the_committed_offset():
    ended, one = application(0)
    one.have({A: 0}, 0)
    one.handle(1000)
    one.have({}, 1500)
    one.have({A: 12}, 2000)
    one.handle(3000)
    one.end(3500)

    assert ended == [Handled(A, 0, 1500, 0, 20), Handled(A, 2000, 3500, 12, 60)]


@pytest.mark.parametrize(("end", "crashes"), [(19, True), (20, False), (21, False)])
def test_a_pill_ends_the_process_that_reaches_it(end, crashes):
    _, one = application(0, (end, True))
    one.have({A: 0}, 0)
    one.handle(1000)  # 20 records

    assert one.has_crashed is crashes


# -- fleets ----------------------------------------------------------------------------------------


def fleet(plans, obstacles=(), **group):
    return {
        "name": "costs",
        "length": "5m",
        "topics": [{"name": "orders", "partitions": 4, "rate": RATE}],
        "groups": [
            {
                "name": "billing",
                "topics": ["orders"],
                "processes": 2,
                "commit_interval": "5s",
                "session_timeout": "10s",
                "max_poll_interval": "20s",
                "restart": "3s",
                "plans": plans,
                "obstacles": list(obstacles),
            }
            | group
        ],
    }


def truth_of(values, **options):
    outputs = simulate(fleet_of(values), START_MS, **options)
    return [each.truth for each in outputs if isinstance(each, TruthLine)]


def tenures(truth):
    """By partition, in order of time: process, from_offset, to_offset."""
    of_partition = defaultdict(list)
    lines = [each for each in truth if each["truth"] == "handled"]
    for line in sorted(lines, key=lambda each: each["from_ms"]):
        of_partition[line["partition"]].append(
            (line["process"], line["from_offset"], line["to_offset"])
        )
    return of_partition


def handled_again(truth):
    """Records handled again, by process that handled them again."""
    counts = defaultdict(int)
    for ranges in tenures(truth).values():
        highest = 0
        for process, begin, end in ranges:
            counts[process] += max(min(end, highest) - begin, 0)
            highest = max(highest, end)
    return {process: count for process, count in counts.items() if count}


KILL = {"kind": "kill", "at": "102s", "processes": [1], "down": "60s"}
FREEZE = {"kind": "freeze", "at": "102s", "length": "30s", "processes": [1]}
DEPLOY = {"kind": "deploy", "at": "102s", "gap": "10s", "down": "2s"}
SLOW = {"kind": "slow_poll", "at": "102s", "length": "40s", "processes": [1]}


@pytest.mark.parametrize("handle", ["0ms", "4ms"])
@pytest.mark.parametrize(
    ("plan", "least", "most"),
    [
        pytest.param(DEPLOY, 0, 0, id="a closed consumer commits its positions"),
        pytest.param(KILL, 1, 2 * RATE * 5, id="up to a commit interval of two partitions"),
        pytest.param(FREEZE, 1, 2 * RATE * 5, id="another process has them meanwhile"),
        pytest.param(SLOW, 1, 2 * RATE * 5, id="without a poll there is no automatic commit"),
    ],
)
def test_records_handled_again(plan, least, most, handle):
    assert least <= sum(handled_again(truth_of(fleet([plan], handle=handle))).values()) <= most


@pytest.mark.parametrize("plan", [DEPLOY, KILL, FREEZE, SLOW])
def test_no_record_is_left_out(plan):
    for ranges in tenures(truth_of(fleet([plan]))).values():
        highest = 0
        for _, begin, end in ranges:
            assert begin <= highest
            highest = max(highest, end)
        assert highest == 300 * RATE


def test_a_pill_ends_processes_until_it_is_gone():
    pill = {"kind": "pill", "topic": "orders", "partition": 1, "at": "100s", "length": "60s"}
    truth = truth_of(fleet([], [pill]))
    crashes = [each["at_ms"] - START_MS for each in truth if each.get("how") == "crashed"]

    assert crashes[0] == 100_051  # The record is available after a 20th of a second.
    assert len(crashes) >= 3
    assert crashes[-1] < 160_000
    assert {end for _, _, end in tenures(truth)[1]} >= {100 * RATE, 300 * RATE}


def test_a_pause_stops_its_partition_only():
    pause = {"kind": "pause", "topic": "orders", "partition": 1, "at": "100s"}
    ranges = tenures(truth_of(fleet([], [pause])))

    assert [ranges[n][-1][2] for n in range(4)] == [6000, 1999, 6000, 6000]


@pytest.mark.parametrize("plan", [DEPLOY, KILL, FREEZE, SLOW])
def test_skipping_idle_time_changes_nothing(plan):
    values = fleet([plan], handle="4ms")

    assert truth_of(values) == truth_of(values, skips_idle=False)
