"""Rolling migrations: which processes restart when, and what clients and coordinator make of it."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import pytest

from coordinator_core.incident import incarnations
from coordinator_core.simulation.plans import Action, ActionKind
from coordinator_core.whatif import InvalidSetting, SettingsChange, baseline_of, predict, refusals
from coordinator_core.whatif.migration import blockers_of, migrations_of, with_restarts
from tests.core.incident.incident_rows import of_fleet

START, STOP, KILL, FREEZE = (
    ActionKind.START, ActionKind.STOP, ActionKind.KILL, ActionKind.FREEZE,
)  # fmt: skip
CONSUMER = "consumer.session.timeout.ms=10000 consumer.heartbeat.interval.ms=3000"


@cache
def baseline(client="java-4.1", assignor="range", plan=None):
    rows = of_fleet(
        {
            "name": "migrated",
            "length": "4m",
            "cluster": {"era": "4.1"},
            "topics": [{"name": "orders", "partitions": 6}],
            "groups": [
                {
                    "name": "billing",
                    "topics": ["orders"],
                    "processes": 3,
                    "client": client,
                    "assignors": [assignor],
                    "session_timeout": "10s",
                    "plans": [dict(plan)] if plan else [],
                }
            ],
        }
    )
    own = incarnations("billing", rows.events["billing"], rows.records["billing"])
    of_group = baseline_of(own, era="4.1")
    return replace(of_group, to_ms=of_group.from_ms + 240_000)


def at(of_group, second):
    moment = datetime.fromtimestamp(of_group.from_ms / 1000 + second, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")


def migrated(of_group, text="", start=60, seeds=1):
    settings = f"group.protocol=consumer migration.start={at(of_group, start)} {CONSUMER} {text}"
    return predict(of_group, SettingsChange.of(settings.split()), seeds=seeds)


def seconds_of(of_group, conversions):
    return [((at_ms - of_group.from_ms) // 1000, protocol) for at_ms, protocol in conversions]


# -- the migration itself --------------------------------------------------------------------------


def test_the_first_consumer_member_converts_the_group_and_the_last_that_leaves_converts_it_back():
    of_group = baseline()
    back = f"migration.interval.ms=10000 restart_ms=1000 migration.back={at(of_group, 120)}"
    prediction = migrated(of_group, back)

    up, down = prediction.migrations
    assert [seconds_of(of_group, each.conversions[0]) for each in (up, down)] == [
        [(60 + 1, "consumer")],
        [(140, "classic")],
    ]
    assert [seconds_of(of_group, each) for each in prediction.conversions] == [
        [(61, "consumer"), (140, "classic")]
    ]
    assert (up.to_ms - up.from_ms, down.to_ms - down.from_ms) == (30_000, 30_000)
    assert blockers_of(up) == blockers_of(down) == []


def test_figures_of_a_migration_are_those_of_its_time():
    """From its first restart to an interval after the last one."""
    of_group = baseline()
    prediction = migrated(of_group, "migration.interval.ms=20000")
    [up], [whole], [unchanged] = (
        [prediction.migrations[0].outcomes[0]],
        prediction.outcomes,
        predict(of_group, SettingsChange(), seeds=1).outcomes,
    )

    assert up.rebalances == whole.rebalances - unchanged.rebalances
    assert up.not_stable_ms == whole.not_stable_ms - unchanged.not_stable_ms
    assert up.moved_partitions == whole.moved_partitions - unchanged.moved_partitions
    assert (
        up.unavailable_partition_ms
        == whole.unavailable_partition_ms - unchanged.unavailable_partition_ms
    )
    assert (up.rebalances, up.moved_partitions) == (6, 12)
    assert up.not_stable_ms == pytest.approx(10_900, rel=0.05)
    # Two partitions of each of three processes are unowned for almost the 3 s that each process is
    # down.
    assert up.unavailable_partition_ms == pytest.approx(16_900, rel=0.05)


@pytest.mark.parametrize(
    ("policy", "conversions", "blockers"),
    [
        (
            "disabled",
            [],
            [
                "processes ended with GROUP_ID_NOT_FOUND",
                "group.consumer.migration.policy does not allow upgrades: members of the consumer"
                " protocol are refused",
                "group.consumer.migration.policy does not allow downgrades: the group stays a"
                " consumer group with classic members",
            ],
        ),
        (
            "downgrade",
            ["classic"],
            [
                "processes ended with GROUP_ID_NOT_FOUND",
                "group.consumer.migration.policy does not allow upgrades: members of the consumer"
                " protocol are refused",
            ],
        ),
        (
            "upgrade",
            ["consumer"],
            [
                "group.consumer.migration.policy does not allow downgrades: the group stays a"
                " consumer group with classic members",
            ],
        ),
        ("bidirectional", ["consumer", "classic"], []),
    ],
)
def test_the_brokers_policy_refuses(policy, conversions, blockers):
    """Without an upgrade, all processes of the consumer protocol fail until the last classic member
    has left: then the group is empty, and the next one makes it a consumer group.
    """
    of_group = baseline()
    text = (
        f"migration.interval.ms=10000 migration.back={at(of_group, 75)}"
        f" migration.processes=billing-1,billing-2 group.consumer.migration.policy={policy}"
    )
    prediction = migrated(of_group, text)

    sentences = [
        sentence.rpartition(" (times: ")[0]
        for migration in prediction.migrations
        for sentence in blockers_of(migration)
    ]
    expected = [each for each in blockers if "downgrades" not in each or "consumer" in conversions]
    converted = [each.protocol for each in prediction.conversions[0]]
    assert converted == [each for each in conversions if "consumer" in conversions]
    assert [*dict.fromkeys(sentences)] == expected


def test_user_data_of_assignments_refuses_members_of_the_consumer_protocol():
    """librdkafka's cooperative-sticky writes it from the second generation of a member on."""
    restart = (("kind", "deploy"), ("at", "40s"), ("gap", "5s"), ("down", "1s"))
    of_group = baseline("librdkafka-2", "cooperative-sticky", restart)
    prediction = migrated(of_group, "migration.interval.ms=10000", start=100)

    assert "UPGRADE_FAILED" in prediction.migrations[0].refusals[0]
    assert any("have user data" in each for each in blockers_of(prediction.migrations[0]))


# -- order of restarts of the processes ------------------------------------------------------------


@pytest.mark.parametrize(
    ("turn_ms", "actions"),
    [
        pytest.param(
            50,
            [(10, START, ""), (50, STOP, ""), (3050, START, "consumer"), (9000, KILL, "")],
            id="a running process stops, and starts with the other protocol",
        ),
        pytest.param(5, [(10, START, "consumer"), (9000, KILL, "")], id="not started yet"),
        pytest.param(9500, [(10, START, ""), (9000, KILL, "")], id="has ended"),
        pytest.param(
            8000,
            [(10, START, ""), (8000, STOP, ""), (9000, KILL, "")],
            id="ends before it would be back",
        ),
    ],
)
def test_turns_of_a_process(turn_ms, actions):
    of_process = [Action(10, START, "a"), Action(9000, KILL, "a")]

    restarted = with_restarts(of_process, [(turn_ms, "consumer")], SettingsChange())

    assert [(each.at_ms, each.kind, each.protocol) for each in restarted] == actions


def test_a_frozen_process_stops_when_it_runs_again():
    of_process = [Action(10, START, "a"), Action(40, FREEZE, "a", 5000)]

    restarted = with_restarts(of_process, [(60, "consumer")], SettingsChange(restart_ms=2000))

    assert [(each.at_ms, each.kind) for each in restarted[2:]] == [(5041, STOP), (7041, START)]


def test_a_process_that_first_starts_later_has_the_new_protocol_at_once():
    scale = (("kind", "scale"), ("at", "100s"), ("to", 4))
    of_group = baseline(plan=scale)
    start = at(of_group, 60)
    change = SettingsChange.of(["group.protocol=consumer", f"migration.start={start}"])

    (migration,) = migrations_of(of_group, change)

    seconds = {name: (ms - migration.from_ms) // 1000 for name, ms in migration.turns.items()}
    assert seconds == {"billing-2": 0, "billing-3": 30, "billing-1": 60, "billing-4": 0}
    assert migration.to_ms - migration.from_ms == 90_000


# -- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("migration.start=2026-11-21T00:46:30", "needs group.protocol"),
        ("group.protocol=consumer migration.start=noon", "expected a UTC time"),
        ("group.protocol=consumer migration.interval.ms=1000", "needs migration.start"),
        ("group.protocol=consumer migration.processes=a", "needs migration.start"),
        (
            "group.protocol=consumer migration.start=2026-11-21 migration.processes=",
            "expected process names",
        ),
        (
            "group.protocol=consumer migration.start=2026-11-21 migration.back=2026-11-20",
            "must be after migration.start",
        ),
        ("group.consumer.migration.policy=both", "must be one of bidirectional, upgrade"),
    ],
)
def test_settings_that_are_refused(text, message):
    with pytest.raises(InvalidSetting, match=message):
        SettingsChange.of(text.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "migration.start=2020-01-01 migration.processes=billing-9",
            "migration.processes: no process billing-9; the group has billing-2, billing-3,"
            " billing-1",
        ),
        (
            "migration.start=2020-01-01 migration.processes=billing-1,billing-1",
            "migration.processes: billing-1 is named twice",
        ),
        ("migration.start=2020-01-01", "migration.start: must be within the evaluated period"),
    ],
)
def test_limits(text, message):
    change = SettingsChange.of(["group.protocol=consumer", *text.split()])

    assert message in list(refusals(baseline(), change))


def test_a_group_that_has_the_protocol_is_not_migrated_to_it():
    of_group = baseline()
    change = SettingsChange.of(["group.protocol=classic", f"migration.start={at(of_group, 60)}"])

    assert list(refusals(of_group, change)) == [
        "migration.start: the group already uses group.protocol=classic"
    ]
