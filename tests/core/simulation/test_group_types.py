"""Groups of all types in a simulation: what becomes of actions, migrations, and idle time."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.simulation import (
    BrokerLogLine,
    SimulatedCluster,
    SpecError,
    TruthLine,
    fleet_of,
)
from coordinator_core.simulation.played_lives import PlayedLives, played
from coordinator_core.simulation.random_fleets import random_fleet

START_MS = 1_795_161_600_000
TOPICS = [{"name": "orders", "partitions": 6}, {"name": "payments", "partitions": 4}]


def fleet(plans=(), length="5m", era="4.4", **group):
    values = {"name": "g", "topics": ["orders", "payments"], "processes": 3} | group
    values.setdefault("client", "java-4.4")
    values["plans"] = [{"kind": "start", "at": "1s", "spread": "3s"}, *plans]
    return {
        "name": "all-types",
        "length": length,
        "cluster": {"era": era},
        "topics": TOPICS,
        "groups": [values],
    }


def run(values, **options):
    return list(SimulatedCluster(fleet_of(values), START_MS, 1, **options).run())


def truths(outputs, kind):
    lines = [output.truth for output in outputs if isinstance(output, TruthLine)]
    return [line for line in lines if line["truth"] == kind]


def total(outputs):
    (line,) = truths(outputs, "group")
    return line


@pytest.mark.parametrize("client", ["java-4.4", "librdkafka-2"])
@pytest.mark.parametrize(
    ("plan", "causes"),
    [
        ({"kind": "stop", "pick": 1, "down": "20s"}, ["LEAVE", "MEMBER_NEW"]),
        ({"kind": "kill", "pick": 1}, ["SESSION_EXPIRY"]),
        ({"kind": "freeze", "pick": 1, "length": "60s"}, ["SESSION_EXPIRY", "MEMBER_NEW"]),
    ],
)
def test_an_action_causes_these_targets(client, plan, causes):
    outputs = run(
        fleet([plan | {"at": "2m"}], protocol="consumer", client=client, era="4.1"),
    )

    late = [
        line["cause"]
        for line in truths(outputs, "generation")
        if line["preparing_ms"] > START_MS + 110_000
    ]
    assert late == causes


def test_a_static_member_that_returns_before_its_session_ends_is_refused():
    plan = {"kind": "kill", "at": "2m", "pick": 1, "down": "5s"}
    values = fleet([plan], protocol="consumer", static=True, restart="10s")

    refused = total(run(values))["static_members_refused"]

    # The session of 45 s began with the last heartbeat, and the process starts every 10 s.
    assert refused in (4, 5)


def test_a_static_member_that_restarts_in_time_moves_nothing():
    plan = {"kind": "stop", "at": "2m", "pick": 1, "down": "5s"}
    outputs = run(fleet([plan], protocol="consumer", static=True))

    late = [
        line for line in truths(outputs, "generation") if line["preparing_ms"] > START_MS + 110_000
    ]
    assert late == []


def test_a_deployment_can_change_the_protocol_and_change_it_back():
    plans = [
        {"kind": "deploy", "at": "1m", "gap": "20s", "down": "2s", "protocol": "consumer"},
        {"kind": "deploy", "at": "3m", "gap": "20s", "down": "2s", "protocol": "classic"},
    ]
    outputs = run(fleet(plans, assignors=["cooperative-sticky"], commit_interval="5s"))

    types = [line.get("group_type", "classic") for line in truths(outputs, "generation")]
    converted = [
        output.text.split("] ")[-1]
        for output in outputs
        if isinstance(output, BrokerLogLine) and "Converted" in output.text
    ]
    assert [types[0], types[len(types) // 2], types[-1]] == ["classic", "consumer", "classic"]
    assert [line.split(" (org")[0] for line in converted] == [
        "Converted the classic group to a consumer group.",
        "Converted the consumer group to a classic group.",
    ]


@pytest.mark.parametrize("protocol", ["share", "streams"])
def test_members_of_share_and_streams_groups_join_leave_and_expire(protocol):
    plans = [
        {"kind": "stop", "at": "1m", "processes": [1]},
        {"kind": "kill", "at": "2m", "processes": [2]},
    ]
    line = total(run(fleet(plans, protocol=protocol)))

    names = ("members_joined", "members_left", "members_expired")
    assert [line[name] for name in names] == [3, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 7))
def test_skipping_idle_time_does_not_change_the_output(seed):
    values = random_fleet(seed, minutes=8, with_modern_groups=True)

    assert run(values) == run(values, skips_idle=False)


def test_most_of_a_quiet_hour_is_skipped_with_the_same_output():
    values = fleet(
        [{"kind": "kill", "at": "40m", "pick": 1, "down": "30s"}], "1h", protocol="consumer"
    )
    skipped = SimulatedCluster(fleet_of(values), START_MS, 1)

    assert list(skipped.run()) == run(values, skips_idle=False)
    assert skipped.idle_skipper.skipped_ms > 0.9 * 3_600_000


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({"protocol": "consumer", "client": "java-3.9"}, "client"),
        ({"protocol": "share", "client": "librdkafka-2"}, "a Java client"),
        ({"protocol": "consumer", "era": "3.9"}, "classic: brokers of this era"),
        ({"protocol": "share", "era": "4.0"}, "classic or consumer: brokers of this era"),
        ({"protocol": "cooperative"}, "protocol"),
    ],
)
def test_a_spec_names_what_no_broker_or_client_supports(group, message):
    with pytest.raises(SpecError, match=message):
        fleet_of(fleet(**group))


# One script, under any protocol.


@cache
def measured(protocol, client, **settings):
    spec = fleet_of(fleet([{"kind": "kill", "at": "2m", "pick": 1, "down": "5s"}]))
    group = replace(spec.groups[0], protocol=protocol, client=client, restart_ms=3000, **settings)
    script = SimulatedCluster(spec, 0, 1)._script(group)
    config = CoordinatorConfig(offsets_topic_partitions=1)
    lives = PlayedLives("4.4", config, spec.topics, replace(group, script=script), 30_000, 300_000)
    return played(lives, seed=1).measures


def test_the_same_lives_are_measured_under_every_protocol():
    classic = measured("classic", "java-4.4", assignors=("range",))
    consumer = measured("consumer", "java-4.4")

    assert classic.rebalances > 0
    assert consumer.rebalances > 0
    assert classic.not_stable_ms > 0
    assert consumer.not_stable_ms > 0
    assert (classic.static_refused, consumer.static_refused) == (0, 0)


def test_only_the_consumer_protocol_refuses_a_static_member_that_returns_early():
    classic = measured("classic", "librdkafka-2", static=True, assignors=("range",))
    consumer = measured("consumer", "librdkafka-2", static=True)

    assert classic.static_refused == 0
    assert consumer.static_refused > 5
