"""Records handled again and pauses of a simulation, by its truth lines: one case per rule."""

import pytest

from coordinator_core.whatif.handovers import HandoverCounter, PlayedHandovers, Uncommitted

ORDERS = ("orders", 0)
RATES = {ORDERS: 10.0}
INTERVAL_MS = 5000


def callback(at_ms, process, kind, partition=ORDERS):
    return {"truth": "callback", "at_ms": at_ms, "process": process, "life": 1} | {
        "callback": kind,
        "partitions": [list(partition)],
    }


def assigned(at_ms, process, partition=ORDERS):
    return callback(at_ms, process, "assigned", partition)


def end(at_ms, process, how):
    return {"truth": "end", "at_ms": at_ms, "process": process, "how": how}


def absent(at_ms, process, kind, length_ms):
    return {"truth": "action", "at_ms": at_ms, "process": process, "action": kind} | {
        "length_ms": length_ms
    }


def handovers(*lines, from_ms=0, to_ms=1_000_000, idle=(), in_background=(), librdkafka=(), seed=1):
    counter = HandoverCounter(
        from_ms,
        to_ms,
        seed=seed,
        idle=idle,
        partitions=RATES,
        in_background=frozenset(in_background),
        librdkafka=frozenset(librdkafka),
    )
    for line in lines:
        counter.take(line)
    return counter.result()


OWNED = [assigned(0, "a")]
FROZEN = [*OWNED, absent(60_000, "a", "freeze", 30_000)]
CLOSED_WHILE_JOINING = [
    *OWNED,
    absent(60_000, "a", "stop", 0),
    callback(60_000, "a", "revoked"),
    end(62_000, "a", "closed"),
    assigned(65_000, "b"),
]
SLOW = [*OWNED, absent(60_000, "a", "slow", 30_000)]


@pytest.mark.parametrize(
    ("lines", "more", "records", "pause_ms"),
    [
        pytest.param(
            [*OWNED, callback(60_000, "a", "revoked"), assigned(61_000, "b")],
            {},
            0,
            1350,
            id="an owner that gives a partition up commits",
        ),
        pytest.param(
            [*OWNED, end(60_000, "a", "closed"), assigned(61_000, "b")],
            {},
            0,
            1350,
            id="a consumer that closes commits",
        ),
        pytest.param(
            CLOSED_WHILE_JOINING,
            {"librdkafka": ["a"]},
            25,
            5350,
            id="librdkafka's final commit waits for the response to JoinGroup, and is refused",
        ),
        pytest.param(
            CLOSED_WHILE_JOINING,
            {},
            0,
            5350,
            id="another client's final commit is accepted",
        ),
        pytest.param(
            [*OWNED, end(60_000, "a", "killed"), assigned(70_000, "b")],
            {},
            25,  # Half an interval, with 10 records per second.
            10_350,
            id="a killed process does not commit",
        ),
        pytest.param(
            [*OWNED, end(60_000, "a", "killed")],
            {"to_ms": 90_000},
            25,
            30_000,
            id="a partition without a next owner pauses until the end of the period",
        ),
        pytest.param(
            [*OWNED, end(60_000, "a", "failed: FENCED_INSTANCE_ID"), assigned(70_000, "b")],
            {},
            25,
            10_350,
            id="a fenced process cannot commit",
        ),
        pytest.param(
            [*FROZEN, assigned(70_000, "b"), callback(90_100, "a", "lost")],
            {},
            25,
            10_350,
            id="a frozen process stops when its freeze begins",
        ),
        pytest.param(
            [*FROZEN, callback(90_100, "a", "lost"), assigned(91_000, "b")],
            {},
            25,
            31_350,
            id="a frozen process learns of its removal before the next owner has the partition",
        ),
        pytest.param(
            [*FROZEN, end(95_000, "a", "killed"), assigned(96_000, "b")],
            {},
            25,
            1350,
            id="a process that ran again after its freeze stops when it is killed",
        ),
        pytest.param(
            [*FROZEN, callback(100_000, "a", "revoked"), assigned(101_000, "b")],
            {},
            0,
            1350,
            id="a freeze shorter than the session ends no tenure",
        ),
        pytest.param(
            [*SLOW, assigned(85_000, "b"), callback(90_000, "a", "lost")],
            {},
            25,
            25_350,
            id="a slow application does not commit: commits are in its poll",
        ),
        pytest.param(
            [*SLOW, assigned(85_000, "b"), callback(90_000, "a", "lost")],
            {"in_background": ("a",)},
            0,
            25_350,
            id="a client with commits in the background commits what a slow application had",
        ),
        pytest.param(
            [*OWNED, end(2000, "a", "killed"), assigned(12_000, "b")],
            {},
            # In 2 of 5 cases a commit precedes the end by 1 s; otherwise all records of 2 s are
            # handled again.
            16,
            10_350,
            id="a tenure shorter than the commit interval: at most all of it",
        ),
        pytest.param(
            [
                *OWNED,
                callback(60_000, "a", "revoked"),
                assigned(61_000, "b"),
                end(61_200, "b", "killed"),
                assigned(70_000, "a"),
            ],
            {},
            0,
            1350 + 9150,
            id="a process that is killed before it has fetched handled nothing",
        ),
        pytest.param(
            [
                *OWNED,
                callback(60_000, "a", "revoked"),
                assigned(61_000, "b"),
                end(62_000, "b", "killed"),
                assigned(70_000, "a"),
                end(71_000, "a", "killed"),
                assigned(80_000, "b"),
            ],
            {},
            # 1 s of 5 with a commit 0.5 s before; else 2 s, then 11 s less what was committed
            0.2 * 5 + 0.8 * 20 + 0.2 * 5 + 0.8 * (110 - 3),
            1350 + 8350 + 9350,
            id="in a crash loop each owner handles the records since the last commit",
        ),
        pytest.param(
            [*OWNED, end(60_000, "a", "killed"), assigned(500_000, "b")],
            {"idle": ((60_000, 500_000),)},
            25,
            0,
            id="a shutdown is no pause",
        ),
        pytest.param(
            [*OWNED, end(60_000, "a", "killed"), assigned(70_000, "b")],
            {"from_ms": 65_000},
            0,
            0,
            id="a tenure that ended before the period does not count",
        ),
        pytest.param(
            [assigned(0, "a", ("orders", 1)), end(60_000, "a", "killed")],
            {},
            0,
            0,
            id="a partition without commits does not count",
        ),
    ],
)
def test_what_the_end_of_a_tenure_costs(lines, more, records, pause_ms):
    result = handovers(*lines, **more)

    assert result.records_reprocessed(RATES, INTERVAL_MS) == pytest.approx(records)
    assert result.pause_ms == pause_ms


@pytest.mark.parametrize(
    ("interval_ms", "records"), [(1000, 5), (5000, 25), (60_000, 300), (120_000, 450)]
)
def test_records_reprocessed_depend_on_the_commit_interval(interval_ms, records):
    result = handovers(*OWNED, end(60_000, "a", "killed"))

    assert result.records_reprocessed(RATES, interval_ms) == pytest.approx(records)


@pytest.mark.parametrize(("interval_ms", "records"), [(1100, (0, 5.5)), (1000, (5, 5))])
def test_clients_that_commit_each_batch_leave_only_that_of_a_slow_application(interval_ms, records):
    """Automatic commits follow a timer: 1000 ms."""
    killed, slow = (
        handovers(*OWNED, end(60_000, "a", "killed")),
        handovers(*SLOW, assigned(85_000, "b")),
    )

    results = [each.records_reprocessed(RATES, interval_ms) for each in (killed, slow)]

    assert results == pytest.approx(records)


def test_the_longest_pause_is_that_of_a_partition_with_a_next_owner():
    result = handovers(
        *OWNED,
        callback(60_000, "a", "revoked"),
        assigned(61_000, "b"),
        end(70_000, "b", "killed"),
        assigned(75_000, "a"),
        end(80_000, "a", "killed"),
        to_ms=100_000,
    )

    assert result.longest_pause_ms == 5350
    assert result.pause_ms == 1350 + 5350 + 20_000


def test_further_seeds_draw_one_last_commit_per_process():
    partitions = [("orders", n) for n in range(2)]
    killed = [
        Uncommitted(
            process="a",
            partition=each,
            from_ms=0,
            stop_ms=60_000,
            committed_ms=0,
            is_slow=False,
            counts=True,
        )
        for each in partitions
    ]
    rates = dict.fromkeys(partitions, 10.0)

    drawn = [
        PlayedHandovers(seed, 0, 0, killed).records_reprocessed(rates, 5000)
        for seed in range(1, 200)
    ]

    assert drawn[0] == 50
    assert (min(drawn) >= 0, max(drawn) < 100) == (True, True)
    assert sum(drawn) / len(drawn) == pytest.approx(50, abs=8)
    alone = [
        PlayedHandovers(seed, 0, 0, killed[:1]).records_reprocessed(rates, 5000)
        for seed in range(1, 200)
    ]
    assert drawn == [2 * each for each in alone]
