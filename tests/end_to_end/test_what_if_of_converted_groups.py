"""Groups that real brokers and clients converted between the protocols, played again as a what-if.

The script (README of the incident): search-migrated is upgraded online by a rolling restart of its
three processes at 40, 47 and 54 s; of ledger-rolled-back two of three processes restart with the
consumer protocol at 46 and 55 s, and with the classic one at 84 and 93 s.  The truth was counted
from real clients and brokers: rebalances (without the target that an upgrade only takes over), time
not stable, moved partitions, partition-ms without an owner; ms of the conversions.
"""

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import pytest

from coordinator_core.whatif import Figures, SettingsChange, predict
from coordinator_core.whatif.figures import median_of
from jobs.console.errors import UsageError
from jobs.what_if.command import WhatIfOptions, as_json, evaluate

pytestmark = pytest.mark.slow

T0_MS = {"4.4.0": 1795401358264, "4.1.2": 1795401187172}
WINDOW_MS = 222_000
SEARCH, LEDGER = "search-migrated", "ledger-rolled-back"
TRUTH = {
    ("4.4.0", SEARCH): Figures(7, 24_697, 5, 65_356),
    ("4.1.2", SEARCH): Figures(7, 24_459, 5, 71_950),
    ("4.4.0", LEDGER): Figures(11, 31_811, 40, 79_833),
    ("4.1.2", LEDGER): Figures(10, 29_399, 36, 83_498),
}
CONVERSIONS = {
    ("4.4.0", SEARCH): [(40_679, "consumer")],
    ("4.1.2", SEARCH): [(40_683, "consumer")],
    ("4.4.0", LEDGER): [(48_842, "consumer"), (93_061, "classic")],
    ("4.1.2", LEDGER): [(47_847, "consumer"), (93_059, "classic")],
}
CASES = [*TRUTH]


def moment(version, ms):
    time = datetime.fromtimestamp((T0_MS[version] + ms) / 1000, UTC)
    return time.strftime("%Y-%m-%dT%H:%M:%S.%f")


@pytest.fixture(scope="module")
def result_of(twins_by):
    @cache
    def result(version, group, *settings):
        lake = twins_by("embedded", "mixed-protocols", version)
        last = moment(version, WINDOW_MS)
        return evaluate(
            WhatIfOptions(
                lake=lake.root,
                cluster_id=version,
                group_id=group,
                settings=settings,
                seeds=3,
                last=last,
            )
        )

    return result


def since_start(version, conversions):
    return [(at_ms - T0_MS[version], protocol) for at_ms, protocol in conversions]


@pytest.mark.parametrize(("version", "group"), CASES)
def test_a_replayed_migration_has_the_real_figures(version, group, result_of):
    """Rebalances within 1, the others within 25 %."""
    model = result_of(version, group, "restart_ms=3000").model.median
    true = TRUTH[version, group]

    assert abs(model.rebalances - true.rebalances) <= 1
    assert model[1:4] == pytest.approx(true[1:4], rel=0.25)


@pytest.mark.parametrize(("version", "group"), CASES)
def test_a_replayed_migration_converts_the_group_when_it_was_converted(version, group, result_of):
    result = result_of(version, group, "restart_ms=3000")
    real = CONVERSIONS[version, group]
    observed = since_start(version, result.conversions)
    replayed = since_start(version, result.model.conversions[0])

    assert [protocol for _, protocol in observed] == [protocol for _, protocol in real]
    assert [protocol for _, protocol in replayed] == [protocol for _, protocol in real]
    assert [ms for ms, _ in observed] == pytest.approx([ms for ms, _ in real], abs=5)
    assert [ms for ms, _ in replayed] == pytest.approx([ms for ms, _ in real], abs=100)


@pytest.mark.parametrize(("version", "group"), CASES)
def test_observed_figures_and_settings(version, group, result_of):
    result = result_of(version, group, "restart_ms=3000")
    true = TRUTH[version, group]
    library = "librdkafka-2" if group == SEARCH else f"java-{version[:3]}"

    assert result.observed.rebalances == true.rebalances
    assert result.observed[1:4] == pytest.approx(true[1:4], rel=0.1)
    assert set(result.baseline.libraries.values()) == {library}
    assert result.baseline.explained.era.name == version[:3]
    assert result.baseline.heartbeat_ms == 3000
    session_ms = 10_000 if group == SEARCH else 45_000  # No consumer session of ledger expired.
    assert result.baseline.consumer[:2] == (session_ms, 3000)
    members = [life.member for each in result.baseline.processes for life in each.lives]
    assert {member.session_timeout_ms for member in members} == {10_000}


def test_protocols_of_process_lives(result_of):
    of_group = result_of("4.4.0", LEDGER, "restart_ms=3000").baseline
    protocols = {
        process.name: [of_group.protocols[life.member_ids[0]] for life in process.lives]
        for process in of_group.processes
    }

    assert protocols == {
        "ledger-1": ["classic", "consumer", "classic"],
        "ledger-2": ["classic", "consumer", "classic", "classic"],
        "ledger-3": ["classic"],
    }


def test_what_a_converted_group_would_have_been_without_its_migration(result_of):
    result = result_of("4.4.0", LEDGER, "group.protocol=classic")
    row = as_json(
        WhatIfOptions(lake="", cluster_id="4.4.0", group_id=LEDGER, settings=("",)), result
    )

    assert row["observed"]["conversions"] == [
        {"at": "2026-11-23 02:36:47.106", "protocol": "consumer"},
        {"at": "2026-11-23 02:37:31.325", "protocol": "classic"},
    ]
    assert row["predicted"]["conversions"] == [[]] * 3
    assert row["predicted"]["rebalances"] <= 12


def test_policy_upgrade_keeps_the_group_a_consumer_group(result_of):
    result = result_of("4.4.0", LEDGER, "group.consumer.migration.policy=upgrade")

    protocols = [each.protocol for each in result.predicted[0].conversions[0]]
    assert protocols == ["consumer"]


# -- the migration, predicted from lives without its restarts --------------------------------------


def without_restarts(baseline, until_ms):
    """The processes as before the migration: each runs from its first start on."""
    processes = tuple(
        replace(each, lives=(replace(each.lives[0], ended=None, killed=False),))
        for each in baseline.processes
    )
    classic = {each.lives[0].member_ids[0]: "classic" for each in processes}
    topics = tuple(replace(each, grows=()) for each in baseline.topics)
    return replace(baseline, processes=processes, protocols=classic, topics=topics, to_ms=until_ms)


CONSUMER = "consumer.session.timeout.ms=10000 consumer.heartbeat.interval.ms=3000"


@pytest.mark.parametrize(
    ("version", "true"),
    [("4.4.0", Figures(3, 7073, 0, 7664)), ("4.1.2", Figures(3, 6901, 0, 7764))],
)
def test_an_upgrade_is_predicted_from_the_group_before_it(version, true, result_of):
    """Rebalances and moves are exact, times within 25 %."""
    of_group = result_of(version, SEARCH, "restart_ms=3000").baseline
    before = without_restarts(of_group, T0_MS[version] + 110_000)
    text = (
        f"group.protocol=consumer migration.start={moment(version, 40_000)} {CONSUMER}"
        " migration.interval.ms=7000 restart_ms=600"
    )
    prediction = predict(before, SettingsChange.of(text.split()), seeds=3)
    (upgrade,) = prediction.migrations
    figures = median_of(upgrade.outcomes)

    assert (figures.rebalances, figures.moved_partitions) == (true.rebalances, 0)
    assert figures[1] == pytest.approx(true[1], rel=0.25)
    assert figures[3] == pytest.approx(true[3], rel=0.25)
    ((at_ms, protocol),) = since_start(version, upgrade.conversions[0])
    assert (at_ms, protocol) == (pytest.approx(40_680, abs=100), "consumer")


@pytest.mark.parametrize("version", ["4.4.0", "4.1.2"])
def test_an_upgrade_and_a_downgrade_are_predicted_from_the_group_before_them(version, result_of):
    """Rebalances within 1, conversions at the restart that made them; one JVM started within 0.7 s,
    another one took 1.6 s more, so times are not those of the real run.
    """
    of_group = result_of(version, LEDGER, "restart_ms=3000").baseline
    before = without_restarts(of_group, T0_MS[version] + 110_000)
    text = (
        f"group.protocol=consumer migration.start={moment(version, 46_000)} {CONSUMER}"
        " group.remote.assignor=range migration.interval.ms=9000 restart_ms=2300"
        f" migration.processes=ledger-1,ledger-2 migration.back={moment(version, 84_000)}"
    )
    prediction = predict(before, SettingsChange.of(text.split()), seeds=3)
    up, down = prediction.migrations
    real = {"4.4.0": (4, 3), "4.1.2": (4, 2)}[version]

    assert abs(median_of(up.outcomes).rebalances - real[0]) <= 1
    assert abs(median_of(down.outcomes).rebalances - real[1]) <= 1
    assert [since_start(version, each) for each in prediction.conversions] == [
        [(pytest.approx(48_300, abs=100), "consumer"), (pytest.approx(93_000, abs=100), "classic")]
    ] * 3


def test_settings_of_a_migration_have_times_of_day(result_of):
    result = result_of(
        "4.4.0", "legacy-eager", "group.protocol=consumer", "migration.start=02:37:00"
    )
    row = as_json(
        WhatIfOptions(lake="", cluster_id="4.4.0", group_id="legacy-eager", settings=("",)), result
    )
    (migration,) = row["predicted"]["migrations"]

    assert migration["from"] == "2026-11-23 02:37:00.000"
    assert migration["to"] == "2026-11-23 02:38:30.000"
    assert migration["protocol"] == "consumer"
    assert migration["conversions"][0][0]["at"].startswith("2026-11-23 02:37:03")
    assert migration["blockers"] == []


@pytest.mark.parametrize("group", ["jobs-share", "clicks-streams"])
def test_share_and_streams_groups_are_refused(group, result_of):
    with pytest.raises(UsageError, match="only classic and consumer groups can be predicted"):
        result_of("4.4.0", group, "membership=static")
