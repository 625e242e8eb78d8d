"""Partitions that make no progress: paused, or with a record that kills each consumer."""

import pytest

MINUTE = 60_000
PARTITION = {"group_id": "g", "topic": "orders", "partition": 3}


def crashed(nth, partition=3, offset=500, committed=None, process=None, how="session_expired"):
    """The tenure before crash ``nth``, 10 s after the previous one; ``committed``: its own."""
    begin = nth * 10_000
    return PARTITION | {
        "partition": partition,
        "process": process or f"p-{nth}",
        "member_id": f"m-{nth}",
        "from_time": begin,
        "to_time": begin + 1000,
        "to_time_low": begin,
        "to_time_high": begin + 3000,
        "how_ended": how,
        "last_commit_offset": offset,
        "last_commit_time": 9000 if committed is None else committed,
        "bounded": True,
        "commit_interval_ms": 5000,
        "from_generation": nth,
        "evidence": "log",
        "estimated": True,
    }


def seen(at, offset, partition=3):
    return {"topic": "orders", "partition": partition, "seen_time": at, "log_end_offset": offset,
            "file_id": "f", "position": at, "source": "end_offsets", "format": "json",
            "file": "f"}  # fmt: skip


AHEAD = [seen(0, 490), seen(15_000, 520), seen(70_000, 700)]
LOOP = [crashed(n) for n in range(1, 5)]
PILL = ("topic_partition", "from_time", "to_time", "confidence", "summary")
LOST = (
    "a record of orders-3 at offset 500 to 519 ended 4 consumers of g one after another: p-1, p-2,"
    " p-3, p-4"
)


def test_a_record_kills_each_consumer(findings):
    tables = {"handover_costs": LOOP, "end_offsets": AHEAD}

    assert findings("poison_pill", tables, *PILL) == [("orders-3", 13_000, 43_000, 0.9, LOST)]


def test_the_remedy_names_the_offset(findings):
    tables = {"handover_costs": LOOP, "end_offsets": AHEAD}

    [(remedy,)] = findings("poison_pill", tables, "remedy")

    assert remedy.splitlines()[1:] == [
        "OFFSET=500",
        "kafka-console-consumer.sh --bootstrap-server localhost:9092 --topic 'orders' --partition 3"
        " --offset 500 --max-messages 20 --property print.offset=true",
        "kafka-consumer-groups.sh --bootstrap-server localhost:9092 --group 'g' --topic 'orders:3'"
        " --reset-offsets --to-offset $((OFFSET + 1)) --execute",
    ]


def test_a_static_member_that_a_supervisor_restarts(findings):
    rows = [crashed(n, process="static", how="replaced") | {"member_id": "m"} for n in range(1, 5)]
    tables = {"handover_costs": rows, "end_offsets": AHEAD}

    assert findings("poison_pill", tables, "topic_partition") == [("orders-3",)]


@pytest.mark.parametrize(("evidence", "expected"), [("commits", 0), ("log", 1)])
def test_a_crash_loop_is_no_slow_poll_unless_a_line_says_so(findings, evidence, expected):
    rows = [crashed(n, process="static", how="replaced") | {"member_id": "m"} for n in range(1, 5)]
    slow = [
        {"generation": n, "cause_seq": 1, "event_time": 13_000 + n, "cause": "STATIC_REPLACED",
         "story": "slow_poll", "process": "static", "evidence": evidence, "group_id": "g",
         "rebalance_timeout_ms": 18_000}
        for n in range(1, 4)
    ]  # fmt: skip
    tables = {"handover_costs": rows, "rebalance_causes": slow}

    assert len(findings("poll_interval_too_short", tables, "finding")) == expected


def test_partitions_beside_the_record_stand_still_for_a_shorter_time(findings):
    beside = [crashed(n, partition=2, offset=n // 2) for n in range(1, 5)]
    longer = [crashed(n, partition=1) for n in range(2, 5)]
    ends = [*AHEAD, *(seen(70_000, 900, partition=n) for n in (1, 2))]
    tables = {"handover_costs": LOOP + beside + longer, "end_offsets": ends}

    assert findings("poison_pill", tables, "topic_partition") == [("orders-3",)]


def test_two_partitions_that_cannot_be_told_apart(findings):
    rows = LOOP + [crashed(n, partition=4) for n in range(1, 5)]
    tables = {"handover_costs": rows, "end_offsets": [*AHEAD, seen(70_000, 900, partition=4)]}

    assert findings("poison_pill", tables, "confidence", "summary") == [
        (
            0.6,
            "a record of orders-3 at offset 500 to 519 (or a record of orders-4, at which the same"
            " processes ended) ended 4 consumers of g one after another: p-1, p-2, p-3, p-4",
        )
    ]


def four_beside(**more):
    """Partitions 3 to 6, at which each process ends."""
    return [crashed(n, partition, **more) for n in range(1, 5) for partition in range(3, 7)]


BESIDE = [seen(70_000, 900, partition) for partition in range(4, 7)]
# Another process commits partition 0 after the second crash.
ALIVE = crashed(3, 0, committed=30_500, process="q") | {"how_ended": "revoked"}


def test_more_than_three_partitions_that_cannot_be_told_apart(findings):
    """Other partitions advance, so that the group's processes do start."""
    tables = {"handover_costs": [*four_beside(), ALIVE], "end_offsets": AHEAD + BESIDE}

    assert findings("poison_pill", tables, "confidence", "summary") == [
        (
            0.4,
            "a record of orders-3 at offset 500 to 519 (or a record of one of 3 other partitions,"
            " at which the same processes ended) ended 4 consumers of g one after another: p-1,"
            " p-2, p-3, p-4",
        )
    ]


@pytest.mark.parametrize(
    "costs",
    [
        pytest.param(four_beside(), id="nothing advances"),
        pytest.param(
            [*four_beside(process="p", how="replaced"), ALIVE], id="one process crashes again"
        ),
    ],
)
def test_more_than_three_partitions_without_a_record_that_kills(findings, costs):
    tables = {"handover_costs": costs, "end_offsets": AHEAD + BESIDE}

    assert findings("poison_pill", tables, "summary") == []


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (0.1, [(0.6, "no log end offsets: perhaps the partition had no records")]),
        (0.05, []),  # Two records are expected in the 34 s since the last commit.
        (None, []),
    ],
)
def test_without_log_end_offsets_the_rate_counts(findings, rate, expected):
    loop = [row | {"records_per_second": rate} for row in LOOP]

    assert findings("poison_pill", {"handover_costs": loop}, "confidence", "evidence") == expected


@pytest.mark.parametrize(
    "tables",
    [
        pytest.param({"handover_costs": LOOP[:2], "end_offsets": AHEAD}, id="two crashes"),
        pytest.param(
            {"handover_costs": LOOP, "end_offsets": [seen(0, 500), seen(70_000, 500)]},
            id="an idle partition",
        ),
        pytest.param(
            {
                "handover_costs": [crashed(n, committed=n * 10_000 + 500) for n in range(1, 5)],
                "end_offsets": AHEAD,
            },
            id="each owner committed",
        ),
        pytest.param(
            {"handover_costs": [each | {"member_id": "m", "process": "p"} for each in LOOP],
             "end_offsets": AHEAD},
            id="the tenures of one member",
        ),
        pytest.param(
            {"handover_costs": [each | {"how_ended": "left"} for each in LOOP],
             "end_offsets": AHEAD},
            id="processes that left",
        ),
        pytest.param(
            {
                "handover_costs": [crashed(n, partition) for n in range(1, 5)
                                   for partition in range(8)],
                "end_offsets": [seen(70_000, 900, partition) for partition in range(8)],
            },
            id="a group whose processes do not start",
        ),
        pytest.param(
            {
                "handover_costs": LOOP + [
                    crashed(n, partition=9, offset=n, process=f"q-{n}") | {"to_time_high": at}
                    for n, at in enumerate(range(13_000, 44_000, 5000), start=10)
                ],
                "end_offsets": AHEAD,
            },
            id="most processes that ended did not own the partition",
        ),
        pytest.param(
            {"handover_costs": [each | {"from_time": 0, "last_commit_time": -1000}
                                for each in (crashed(n) for n in (7, 14, 21))]},
            id="killed after a minute or more, without log end offsets",
        ),
    ],
)  # fmt: skip
def test_no_record_that_kills(findings, tables):
    assert findings("poison_pill", tables, "summary") == []


def unserved(begin, end, reason="stuck", offset=500, behind=300, **more):
    return PARTITION | {
        "generation": 1,
        "process": "p-1",
        "member_id": "m-1",
        "from_time": begin,
        "to_time": end,
        "unserved_ms": end - begin,
        "reason": reason,
        "committed_offset": offset,
        "commit_interval_ms": 5000,
        "behind": behind,
        "evidence": "commits",
        "estimated": True,
    } | more  # fmt: skip


STUCK = ("topic_partition", "from_time", "to_time", "confidence", "summary")


def test_a_partition_is_stuck(findings):
    rows = [unserved(0, 20_000), unserved(23_000, 60_000, behind=400, process="p-2")]

    assert findings("stuck_partition", {"unserved_times": rows}, *STUCK) == [
        (
            "orders-3", 0, MINUTE, 0.9,
            "orders-3 of g stands at offset 500 for 57 s although its owner (p-1, p-2) consumes"
            " other partitions: 400 records behind",
        )
    ]  # fmt: skip


def test_without_log_end_offsets_it_is_perhaps_idle(findings):
    rows = [unserved(0, 3 * MINUTE, reason="no_progress", behind=None)]

    assert findings("stuck_partition", {"unserved_times": rows}, "confidence", "summary") == [
        (
            0.5,
            "orders-3 of g stands at offset 500 for 180 s although its owner (p-1) consumes other"
            " partitions: perhaps it has no new records",
        )
    ]


@pytest.mark.parametrize(
    "tables",
    [
        pytest.param({"unserved_times": [unserved(0, 29_000)]}, id="short"),
        pytest.param(
            {"unserved_times": [unserved(0, 80_000, commit_interval_ms=30_000)]},
            id="shorter than three of its intervals of commits",
        ),
        pytest.param(
            {"unserved_times": [unserved(0, MINUTE, reason=reason)
                                for reason in ("owner_stalled", "slow_poll", "frozen")]},
            id="its owner stalls",
        ),
        pytest.param(
            {"unserved_times": [unserved(0, 31_000), unserved(31_000, 90_000, reason="slow_poll")]},
            id="its owner is slow most of the time",
        ),
        pytest.param(
            {"unserved_times": [unserved(0, 20_000), unserved(5 * MINUTE, 5 * MINUTE + 20_000)]},
            id="unowned for most of the time",
        ),
        pytest.param(
            {"unserved_times": [unserved(0, 20_000), unserved(20_000, 40_000, offset=501)]},
            id="it advances",
        ),
        pytest.param(
            {"unserved_times": [unserved(0, MINUTE)], "handover_costs": LOOP},
            id="a record kills its owners",
        ),
    ],
)  # fmt: skip
def test_no_stuck_partition(findings, tables):
    assert findings("stuck_partition", tables, "summary") == []
