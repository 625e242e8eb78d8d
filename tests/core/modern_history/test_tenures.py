"""When processes of a consumer group owned a partition, by the members' records."""

import pytest

from coordinator_core.modern_history import LoggedDeparture, RecordKind, replay
from coordinator_core.modern_history.heartbeats import (
    ConfiguredTiming,
    Expiry,
    interval_of,
    timing_of,
)
from coordinator_core.modern_history.members import AWAY
from coordinator_core.modern_history.process_ends import Ends
from coordinator_core.modern_history.tenures import ownership
from tests.core.modern_history import group_records
from tests.core.modern_history.group_records import STABLE, UNREVOKED, bump, record, removed

P = ("active", None, "topic", 0)
POLL_MS = 30_000


def joined(ms, member, **fields):
    return group_records.joined(ms, member, **{"rebalance_timeout_ms": POLL_MS} | fields)


def target(ms, epoch, member):
    return group_records.target(ms, epoch, **{member: [P]})


def current(ms, member, epoch, owned=(), pending=()):
    state = UNREVOKED if pending else STABLE
    return group_records.current(ms, member, epoch, state, owned, pending)


def has(ms, member, epoch=2, **fields):
    """The member joins and gets the partition."""
    return [
        joined(ms, member, **fields), bump(ms, epoch), *target(ms, epoch, member),
        current(ms, member, epoch, [P]),
    ]  # fmt: skip


def tenures(records, departures=(), commits=None):
    """Process, begin, end, how it ended, whether that time is estimated."""
    return [
        (each.process.split("@")[0], each.from_ms, each.until_ms, each.how, each.is_estimated)
        for each in ownership(replay(records, departures), commits).tenures
    ]


def test_a_client_that_takes_a_new_id_after_its_session_expired_may_have_been_frozen():
    """franz-go: its member ids end with ==."""
    old, new = "T2ybk8XrbhWoznt012Lkog==", "UkwoC2pTovcQMDFeUr2QHQ=="
    kept = "YnbN_3qNScu8AAL2OiSHJg"  # Java
    back_ms = {}
    for member in (old, kept):
        records = [*has(0, member, client_id="a"), *removed(GONE_MS, member)]
        records += has(70_000, new, 4, client_id="a")
        departed = [LoggedDeparture(GONE_MS, member, "session_expired")]
        first = ownership(replay(records, departed)).tenures[0]
        back_ms[member] = first.departure.back_ms

    assert back_ms == {old: 70_000, kept: None}


def asked(ms, given_up_ms):
    """Member a is asked to give the partition up."""
    return [current(ms, "a", 2, [], [P]), current(given_up_ms, "a", 3)]


GONE_MS = 60_000
GONE = removed(GONE_MS, "a")
EXPIRED = [LoggedDeparture(GONE_MS, "a", "session_expired")]
# Defaults without evidence: a session timeout of 45 s, and a heartbeat every 5 s.
KILLED_MS = GONE_MS - 45_000 + 2500
STATIC = {"instance_id": "i"}

# rule -> records after 0, departures, and of the first tenure: its end, how it ended, whether the
# end is estimated
CASES = {
    "until it is asked": (asked(9000, 9200), [], (9000, "revoked", False)),
    "a busy client: until it acknowledges": (asked(9000, 21_000), [], (21_000, "revoked", False)),
    "until it leaves": (GONE, [LoggedDeparture(GONE_MS, "a", "left")], (GONE_MS, "left", False)),
    "without a line, that it left is inferred": (GONE, [], (GONE_MS, "left", True)),
    "killed: between two heartbeats": (GONE, EXPIRED, (KILLED_MS, "session_expired", True)),
    "killed: not after its next life joined": (
        [joined(16_000, "b", client_id="a"), bump(16_000, 3), *target(16_000, 3, "a"), *GONE],
        EXPIRED, (15_500, "session_expired", True),
    ),
    "frozen: until the same member is back": (
        [*GONE, *has(80_000, "a", 4)], EXPIRED, (80_000, "session_expired", True),
    ),
    "not given up in time: until it is back": (
        [current(30_000, "a", 2, [], [P]), *GONE, *has(71_000, "a", 4)],
        [LoggedDeparture(GONE_MS, "a", "dropped")], (71_000, "dropped", True),
    ),
    "dead, although its session has not expired": (
        [joined(20_000, "b"), bump(20_000, 3), *target(20_000, 3, "b"),
         current(25_000, "b", 3), current(40_000, "b", 3)],
        [], (12_500, "no_heartbeat", True),
    ),
    "it still owns the partition": ([], [], (None, "revoked", False)),
}  # fmt: skip


@pytest.mark.parametrize("rule", CASES)
def test_a_process_owns_a_partition(rule):
    records, departures, expected = CASES[rule]

    [(process, from_ms, *end), *_] = tenures([*has(0, "a"), *records], departures)

    assert (process, from_ms, tuple(end)) == ("a", 0, expected)


def test_a_static_member_owns_until_it_closes_and_its_next_life_from_its_record_on():
    back = [*removed(9000, "a"), joined(9000, "b", **STATIC), current(9000, "b", 2, [P])]

    owned = tenures([*has(0, "a", **STATIC), current(7000, "a", AWAY, [P]), *back])

    assert owned == [("i", 0, 7000, "replaced", False), ("i", 9000, None, "revoked", False)]


def test_an_application_that_does_not_poll_takes_no_partition():
    """The member left max.poll.interval.ms after the last poll, and is back at the next one."""
    records = [*has(0, "a"), *removed(60_000, "a"), *has(61_000, "a", 4)]

    [slow, _] = ownership(replay(records, [LoggedDeparture(60_000, "a", "left")])).tenures

    assert (slow.until_ms, slow.polled_ms) == (61_000, 60_000 - POLL_MS)


@pytest.mark.parametrize(
    ("committed_ms", "polled_ms"), [([10_000, 15_000, 20_000], 17_500), ([], 25_000)]
)
def test_a_client_that_leaves_when_its_application_polls_again(committed_ms, polled_ms):
    """librdkafka leaves not after max.poll.interval.ms, but at the next poll within its session,
    and joins at once.  Its last commit was at most 5 s after the last poll."""
    records = [*has(0, "a"), *removed(60_000, "a"), *has(60_005, "a", 4)]
    history = replay(records, [LoggedDeparture(60_000, "a", "left")])
    ends = Ends(history, {("a", 60_000): {P: committed_ms}})

    assert ends.last_polls() == {("a", 60_000): polled_ms}


@pytest.mark.parametrize(("asked_ms", "polled_ms"), [(40_000, 27_500), (50_000, None)])
def test_an_application_that_ignores_a_revocation_does_not_poll(asked_ms, polled_ms):
    """Its client sends heartbeats until max.poll.interval.ms after the last poll, here at 55 s."""
    asked = current(asked_ms, "a", 2, [], [P])
    records = [*has(0, "a"), asked, *removed(100_000, "a"), *has(110_000, "a", 4)]

    [slow, _] = ownership(
        replay(records, [LoggedDeparture(100_000, "a", "session_expired")])
    ).tenures

    assert (slow.until_ms, slow.polled_ms) == (110_000, polled_ms)


def test_commits_tell_a_kill_from_a_leave_and_bound_it():
    """It made a commit each 5 s, none when it ended: killed before the next one was due."""
    commits = {("a", GONE_MS): {P: [5000, 10_000, 15_000]}}

    [(*_, until_ms, how, _)] = tenures([*has(0, "a"), *GONE], commits=commits)

    assert (until_ms, how) == ((15_000 + 20_000) // 2, "session_expired")


@pytest.mark.parametrize(
    ("session_ms", "killed_ms"),
    [
        (10_000, 51_500),
        # The member joined 60 s before, when the setting had another value.
        (90_000, KILLED_MS - 1000),
    ],
)
def test_a_configured_session_tells_when_a_member_was_killed(session_ms, killed_ms):
    history = replay([*has(0, "a"), *GONE], EXPIRED)

    [killed] = ownership(history, {}, ConfiguredTiming(3000, session_ms)).tenures

    assert killed.until_ms == killed_ms


def test_the_expiry_of_a_member_that_is_back_does_not_tell_the_session_timeout():
    """As captured: its first expiry could not be written while a broker was down, so that the
    coordinator repeated it, 5.6 s after the member had joined again."""
    repeated = [*has(61_000, "b", 3), *removed(66_600, "b"), *has(68_000, "b", 4)]
    departures = [*EXPIRED, LoggedDeparture(66_600, "b", "session_expired")]

    [(*_, until_ms, how, _), *_] = tenures([*has(0, "a"), *GONE, *repeated], departures)

    assert (until_ms, how) == (KILLED_MS, "session_expired")


def test_a_group_without_processes_for_five_minutes_was_shut_down():
    left = [LoggedDeparture(9000, "a", "left"), LoggedDeparture(19_000, "b", "left")]
    records = [
        *has(0, "a"), *removed(9000, "a"), bump(9000, 3),
        *has(15_000, "b", 4), *removed(19_000, "b"), bump(19_000, 5),
        *has(400_000, "c", 6),
    ]  # fmt: skip

    [shutdown] = ownership(replay(records, left)).shutdowns

    assert (shutdown.at_ms, shutdown.stopped_ms, shutdown.generation) == (19_000, 19_000, 4)


def test_a_group_that_the_leave_of_its_last_consumer_member_converts_was_not_shut_down():
    """The member that left was the last one to join, and is not in the classic group."""
    left = [LoggedDeparture(9000, "b", "left")]
    records = [
        *has(0, "a"), *has(5000, "b", 3), *removed(9000, "a"), *removed(9000, "b"),
        record(9000, RecordKind.CLASSIC, epoch=4, group_type="classic", members=("a",)),
    ]  # fmt: skip

    owned = ownership(replay(records, left))

    assert [each.how for each in owned.tenures] == ["converted", "left"]
    assert owned.shutdowns == []


# -- values that no record has ---------------------------------------------------------------------


def heartbeats(*times_ms):
    records = [joined(0, "a"), bump(0, 2), *target(0, 2, "a")]
    for epoch, ms in enumerate(times_ms, 2):
        records += [
            bump(ms, epoch),
            record(ms, RecordKind.TARGET, epoch=epoch),
            current(ms, "a", epoch),
        ]
    return replay(records).memberships


@pytest.mark.parametrize(
    ("times_ms", "interval_ms"),
    [
        pytest.param((3000, 6002, 15_001, 18_005, 24_003, 27_001), 3000, id="most frequent"),
        pytest.param(
            (6000, 12_010, 21_020, 27_020, 36_030, 42_040, 45_050),
            3000,
            id="all are multiples of it",
        ),
        pytest.param(
            (3000, 6000, 10_000, 13_000, 17_000, 20_000, 25_000, 28_000), 3000, id="late heartbeats"
        ),
        pytest.param((3000, 9000), 5000, id="default"),
    ],
)
def test_the_heartbeat_interval_is_the_most_frequent_time_between_records(times_ms, interval_ms):
    assert interval_of(heartbeats(*times_ms)) == interval_ms


@pytest.mark.parametrize(
    ("expiries", "session_ms"),
    [
        pytest.param([], 45_000, id="default"),
        pytest.param([Expiry(100_000, 87_000)], 10_000, id="whole intervals later"),
        pytest.param([Expiry(100_000, 69_000)], 25_000, id="the longest multiple of 5 s"),
        pytest.param([Expiry(100_000, 69_000, (85_000,))], 10_000, id="not before its commit"),
        pytest.param([Expiry(100_000, 40_000)], 45_000, id="the default, if it fits"),
        pytest.param(
            [Expiry(100_000, 40_000, silent_ms=49_000)], 60_000, id="before it was silent"
        ),
    ],
)
def test_the_session_timeout_fits_the_expiries(expiries, session_ms):
    assert timing_of(3000, expiries).session_ms == session_ms
