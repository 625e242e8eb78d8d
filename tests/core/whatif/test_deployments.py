"""Ways to deploy a group: which ones are compared, and what the protocol makes of them."""

from dataclasses import replace

import pytest

from coordinator_core.whatif import UNCHANGED, SettingsChange
from coordinator_core.whatif.candidates import settings_to_deploy
from coordinator_core.whatif.deployments import (
    DeployedGroup,
    Deployment,
    Restart,
    RestartTime,
    Scale,
    Strategy,
    deployments,
    last_deployment,
    restart_time,
    restarts,
    ways_to_scale,
)
from coordinator_core.whatif.known_settings import KnownSetting, KnownSettings
from coordinator_core.whatif.manifests import manifest, scaling_policy
from tests.core.whatif.deployed_groups import DEPLOYED, baseline_of_group
from tests.core.whatif.test_limits import LIBRDKAFKA, group

PACE_MS = 30_000


@pytest.fixture(scope="module")
def baseline():
    """Six Java processes with twelve partitions, deployed once, one by one, each away for 4 s."""
    return baseline_of_group({**DEPLOYED, "at": "3m"}, "10m")


def test_ways_to_deploy_six_processes():
    assert [tuple(each) for each in deployments(6, 4000, 3000)] == [
        ("one_by_one", 4000, 1),
        ("one_by_one", 10_000, 1),
        ("one_by_one", 34_000, 1),
        ("batches", 10_000, 2),
        ("batches", 10_000, 3),
        ("surge", 10_000, 1),
        ("surge", 10_000, 6),
        ("recreate", 0, 6),
    ]


def test_ways_to_deploy_one_process():
    assert [tuple(each) for each in deployments(1, 4000, 3000)] == [
        ("one_by_one", 4000, 1),
        ("surge", 10_000, 1),
    ]


def test_the_restart_time_is_the_observed_one(baseline):
    time = restart_time(restarts(baseline), None)

    assert time.restarts == 6
    assert 4000 <= time.least_ms <= time.usual_ms <= time.most_ms <= 4100


def test_a_restart_time_that_was_not_observed_is_assumed_or_given():
    assert restart_time([], None) == RestartTime(10_000, 10_000, 10_000, is_assumed=True)
    assert restart_time([], 7000) == RestartTime(7000, 7000, 7000)


def test_the_last_deployment_has_all_processes_once(baseline):
    deployment = last_deployment(restarts(baseline), 6)

    assert len({each.process for each in deployment}) == 6
    assert last_deployment(restarts(baseline), 7) == ()
    assert last_deployment([Restart(0, 4000, "a"), Restart(5000, 9000, "a")], 2) == ()


@pytest.mark.parametrize(
    ("strategy", "batch", "change", "rebalances"),
    [
        (Strategy.ONE_BY_ONE, 1, "", (12, 12)),  # Each process leaves, and joins again.
        (Strategy.BATCHES, 2, "", (6, 6)),  # Both processes leave, and both join again.
        (Strategy.RECREATE, 6, "", (1, 2)),
        (Strategy.SURGE, 6, "", (2, 4)),
        (Strategy.ONE_BY_ONE, 1, "membership=static", (0, 0)),
        (Strategy.ONE_BY_ONE, 1, "group_protocol=consumer", (10, 12)),
    ],
)
def test_rebalances_of_each_strategy(baseline, strategy, batch, change, rebalances):
    group = DeployedGroup.of(baseline, None, [], 4000)

    plan = group.plan(Deployment(strategy, PACE_MS, batch), SettingsChange.of(change.split()), 4)

    least, most = rebalances
    assert least <= plan.minimum.rebalances <= plan.maximum.rebalances <= most


def test_a_restarted_static_member_keeps_its_two_partitions_unowned(baseline):
    group = DeployedGroup.of(baseline, None, [], 4000)

    static = SettingsChange.of(["membership=static"])
    plan = group.plan(Deployment(Strategy.ONE_BY_ONE, PACE_MS, 1), static, 2)

    # Twelve partitions are unowned for 4 s each, plus the time to join.
    assert 47_500 <= plan.median.unavailable_partition_ms <= 49_000


def test_the_downtime_of_an_eager_group_depends_on_the_phase_of_its_heartbeats(baseline):
    group = DeployedGroup.of(baseline, None, [], 4000)

    plan = group.plan(Deployment(Strategy.ONE_BY_ONE, PACE_MS, 1), UNCHANGED, 8)

    least, most = (each.unavailable_partition_ms for each in (plan.minimum, plan.maximum))
    assert most - least > 5000


def test_more_processes_than_run_are_deployed_under_own_names(baseline):
    group = DeployedGroup.of(baseline, 8, [], 4000)

    assert len({slot.name for slot in group.slots}) == 8
    assert (
        group.plan(Deployment(Strategy.ONE_BY_ONE, PACE_MS, 1), UNCHANGED, 1).median.rebalances
        == 16
    )


def test_settings_to_deploy_for_a_classic_group(baseline):
    assert [str(each) for each in settings_to_deploy(baseline, 4000)] == [
        "unchanged",
        "membership=static",
        "protocol=cooperative",
        "group_protocol=consumer",
    ]


def test_static_members_need_a_session_longer_than_the_restart(baseline):
    assert str(settings_to_deploy(baseline, 30_000)[1]) == (
        "membership=static session_timeout_ms=60000"
    )


def test_what_brokers_refuse_and_what_is_in_force_is_not_tried(baseline):
    longest = KnownSetting("45000", "server.properties")
    limited = replace(baseline, configured=KnownSettings({"group.max.session.timeout.ms": longest}))
    cooperative = replace(baseline, assignors=("cooperative-sticky",))

    assert [str(each) for each in settings_to_deploy(limited, 30_000)] == [
        "unchanged",
        "protocol=cooperative",
        "group_protocol=consumer",
    ]
    assert [str(each) for each in settings_to_deploy(cooperative, 4000)] == [
        "unchanged",
        "membership=static",
        "group_protocol=consumer",
    ]


def test_a_longer_session_of_librdkafka_has_the_poll_interval_that_it_requires():
    assert str(settings_to_deploy(group(LIBRDKAFKA, poll_ms=30_000), 30_000)[1]) == (
        "membership=static session_timeout_ms=60000 rebalance_timeout_ms=60000"
    )


def test_a_manifest_leaves_the_pace_between_two_processes():
    way = Deployment(Strategy.ONE_BY_ONE, 34_000, 1)

    assert manifest(way, 4000, 6).splitlines() == [
        "# Deployment; in a StatefulSet: updateStrategy, without maxSurge",
        "spec:",
        "  minReadySeconds: 30",
        "  strategy:",
        "    type: RollingUpdate",
        "    rollingUpdate:",
        "      maxSurge: 0",
        "      maxUnavailable: 1",
        "  # StatefulSet:",
        "  podManagementPolicy: OrderedReady",
        "# pod template",
        "      terminationGracePeriodSeconds: 60",
    ]


def test_of_many_processes_a_tenth_is_the_smallest_batch():
    assert [tuple(each) for each in deployments(300, 4000, 3000)] == [
        ("batches", 10_000, 30),
        ("batches", 10_000, 150),
        ("surge", 10_000, 30),
        ("surge", 10_000, 300),
        ("recreate", 0, 300),
    ]
    assert [tuple(each) for each in ways_to_scale(Scale(100, 200), 3000)] == [
        ("batches", 9000, 10),
        ("batches", 30_000, 10),
        ("batches", 30_000, 50),
        ("batches", 0, 100),
    ]


def test_ways_to_scale_from_six_to_twelve_processes():
    assert [tuple(each) for each in ways_to_scale(Scale(6, 12), 3000)] == [
        ("one_by_one", 9000, 1),
        ("one_by_one", 30_000, 1),
        ("batches", 30_000, 3),
        ("batches", 0, 6),
    ]


@pytest.mark.parametrize("scale", [Scale(6, 9), Scale(9, 6)])
def test_each_process_that_starts_or_stops_alone_costs_a_rebalance(baseline, scale):
    group = DeployedGroup.of(baseline, 9, [], 4000)

    plan = group.scale(scale, Deployment(Strategy.ONE_BY_ONE, PACE_MS, 1), 4)

    assert (plan.minimum.rebalances, plan.maximum.rebalances) == (3, 3)


def test_processes_that_start_together_share_rebalances(baseline):
    group = DeployedGroup.of(baseline, 12, [], 4000)

    plan = group.scale(Scale(6, 12), Deployment(Strategy.BATCHES, 0, 6), 4)

    assert plan.maximum.rebalances <= 3


def test_the_manifest_of_an_autoscaler_has_the_batch_and_the_pace():
    assert scaling_policy(Deployment(Strategy.BATCHES, 30_000, 3), is_out=True).splitlines() == [
        "# HorizontalPodAutoscaler",
        "spec:",
        "  behavior:",
        "    scaleUp:",
        "      policies:",
        "        - type: Pods",
        "          value: 3",
        "          periodSeconds: 30",
    ]


def test_heartbeats_of_static_members_have_different_phases(baseline):
    """At the join of the new members the old members revoke their partitions one after the other;
    a group that always rebalanced together would be without owners for less time.
    """
    group = DeployedGroup.of(baseline, None, [], 4000)

    static = SettingsChange.of(["membership=static", "session.timeout.ms=10000"])
    plan = group.plan(Deployment(Strategy.SURGE, 8000, 6), static, 4)

    assert plan.median.unavailable_partition_ms > 75_000


@pytest.mark.parametrize(("client", "moved"), [("java-4.1", 4), ("librdkafka-2", 12)])
def test_a_cooperative_group_is_deployed_from_its_last_assignment(client, moved):
    """After a restart one by one, the sticky assignment is another one than that of a new group."""
    assignors = ["cooperative-sticky"]
    plan = {**DEPLOYED, "at": "2m"}
    evidence = baseline_of_group(plan, client=client, assignors=assignors)
    group = DeployedGroup.of(evidence, None, [], 4000)

    plan = group.plan(Deployment(Strategy.RECREATE, 0, 6), UNCHANGED, 1)

    assert plan.median.moved_partitions == moved
