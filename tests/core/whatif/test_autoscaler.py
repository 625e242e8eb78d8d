"""KEDA and a HorizontalPodAutoscaler over a given load; expected numbers by their rules.

The rules are those of KEDA's kafka scaler, of Kubernetes' HPA controller and of the defaults of
autoscaling/v2.
"""

import pytest

from coordinator_core.whatif.autoscaler import (
    SCALE_DOWN,
    SCALE_UP,
    Load,
    Policy,
    ScalingPolicy,
    ScalingRules,
    Select,
    replay,
)
from coordinator_core.whatif.deployments import Scale

POLICY = Policy(
    lag_threshold=100,
    min_replicas=1,
    max_replicas=10,
    polling_s=30,
    cooldown_s=60,
    idles=False,
    down=SCALE_DOWN._replace(window_s=120),
)
WITH_BEHAVIOR = POLICY._replace(up=SCALE_UP)


def steps(policy, load, replicas=1):
    """The changes of the number of processes, each with its second."""
    return [(at, *scale) for at, scale in replay(policy, load, replicas, no_pause).scales]


def lag_of(records, seconds=60, partitions=20):
    """A lag from the first second on, of which nothing is handled."""
    return Load([records] + [0.0] * seconds, capacity=0.0, partitions=partitions)


def no_pause(_):
    return 0.0


def test_a_steady_load_that_is_handled_needs_no_change():
    load = Load([10.0] * 600, capacity=10.0, partitions=12)

    replayed = replay(POLICY, load, 1, no_pause)

    assert replayed.scales == []
    assert max(replayed.lags) == 0.0


def test_processes_start_at_once_up_to_the_lag_and_stop_after_the_stabilization_window():
    """A burst of 400 records; four processes handle 40 per second."""
    load = Load([0.0] * 15 + [400.0] + [0.0] * 284, capacity=10.0, partitions=12)

    replayed = replay(POLICY, load, 1, no_pause)

    # At 30 s the lag is 250: one process handled 10 per second for 15 s.
    assert replayed.scales[0] == (30, Scale(1, 3))
    # The last time at which more than one process was wanted is 30 s.
    assert replayed.scales[-1] == (150, Scale(3, 1))


@pytest.mark.parametrize(
    ("replicas", "lag", "expected"),
    [
        (1, 110, []),
        (1, 111, [(15, 1, 2)]),
        (10, 901, []),
        (10, 899, [(120, 10, 9)]),
        (10, 1099, []),
    ],
)
def test_a_difference_of_a_tenth_is_ignored(replicas, lag, expected):
    assert steps(POLICY._replace(max_replicas=20), lag_of(lag, 130), replicas) == expected


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (POLICY, [(15, 1, 4), (30, 4, 8), (45, 8, 10)]),
        (WITH_BEHAVIOR, [(15, 1, 5), (30, 5, 10)]),
    ],
)
def test_without_behavior_the_number_doubles_or_becomes_four(policy, expected):
    """The default scaleUp policies of a behavior: four more, or twice as many, per 15 s."""
    assert steps(policy, lag_of(5000)) == expected


@pytest.mark.parametrize(
    ("partitions", "lag", "allows_idle", "most"),
    [
        (3, 5000, False, 3),
        # 350 / 100 is 3 in whole numbers.  This is not more than the number of partitions, so the
        # lag stays 350.
        (3, 350, False, 4),
        (3, 400, False, 3),
        (3, 5000, True, 10),
    ],
)
def test_the_lag_counts_up_to_one_process_per_partition(partitions, lag, allows_idle, most):
    load = lag_of(lag, partitions=partitions)

    assert max(replay(POLICY._replace(allows_idle=allows_idle), load, 1, no_pause).replicas) == most


def test_the_least_number_of_processes_may_exceed_the_partitions():
    assert (
        max(replay(POLICY._replace(min_replicas=5), lag_of(0, partitions=3), 5, no_pause).replicas)
        == 5
    )


def test_processes_beyond_the_partitions_handle_nothing():
    load = Load([20.0] * 10, capacity=10.0, partitions=1)

    assert replay(POLICY, load, 4, no_pause).lags[-1] == 100.0


PODS, PERCENT = ScalingPolicy(False, 2, 60), ScalingPolicy(True, 50, 60)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (ScalingRules(0, (PODS,)), [(0, 9, 7), (60, 7, 5), (120, 5, 3)]),
        # Half of nine is rounded down.
        (ScalingRules(0, (PERCENT,)), [(0, 9, 4), (60, 4, 2), (120, 2, 1)]),
        (ScalingRules(0, (PODS, PERCENT)), [(0, 9, 4), (60, 4, 2), (120, 2, 1)]),
        (ScalingRules(0, (PODS, PERCENT), Select.MIN), [(0, 9, 7), (60, 7, 5), (120, 5, 3)]),
        (ScalingRules(0, (PODS,), Select.DISABLED), []),
        (
            ScalingRules(0, (PODS._replace(period_s=30),)),
            [(at, 9 - at // 15, 7 - at // 15) for at in (0, 30, 60)] + [(90, 3, 1)],
        ),
    ],
)
def test_policies_limit_the_processes_that_stop_in_a_period(rules, expected):
    assert steps(WITH_BEHAVIOR._replace(down=rules), lag_of(0, 130), 9) == expected


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (ScalingRules(0, (PODS,)), [(15, 1, 3), (75, 3, 5)]),
        # Half a process more is rounded up.
        (ScalingRules(0, (PERCENT,)), [(15, 1, 2), (75, 2, 3)]),
        (ScalingRules(60, SCALE_UP.policies), [(60, 1, 5), (75, 5, 10)]),
        (ScalingRules(0, (PODS,), Select.DISABLED), []),
    ],
)
def test_policies_and_window_limit_the_processes_that_start(rules, expected):
    assert steps(POLICY._replace(up=rules), lag_of(5000, 100)) == expected


def test_without_behavior_a_higher_number_within_the_window_counts():
    """Nine are wanted at first.  At 30 s, three would do."""
    load = Load([1000.0] + [0.0] * 60, capacity=10.0, partitions=20)

    assert steps(POLICY, load)[:2] == [(15, 1, 4), (30, 4, 8)]
    assert steps(WITH_BEHAVIOR, load) == [(15, 1, 5)]


def test_the_last_processes_start_above_the_activation_lag():
    policy = POLICY._replace(min_replicas=0, idles=True, activation_lag=50)

    assert steps(policy, lag_of(50, 90), 0) == []
    assert steps(policy, lag_of(51, 45), 0) == [(30, 0, 1)]


def test_an_idle_group_starts_with_the_least_number():
    """minReplicaCount: 3 with idleReplicaCount: 0."""
    policy = POLICY._replace(min_replicas=3, idles=True)

    assert steps(policy, lag_of(0, 70), 3) == [(60, 3, 0)]
    assert steps(policy, lag_of(10, 40), 0)[0] == (30, 0, 3)


def test_the_last_process_stops_after_the_cooldown_and_starts_when_keda_polls():
    load = Load([0.0] * 100 + [50.0] + [0.0] * 99, capacity=10.0, partitions=12)

    replayed = replay(POLICY._replace(min_replicas=0, idles=True), load, 1, no_pause)

    # The lag is 0 for 60 s, and positive from 100 s on. KEDA polls at 120 s, and the lag is 0 at
    # 124 s.
    assert replayed.scales == [(60, Scale(1, 0)), (120, Scale(0, 1)), (185, Scale(1, 0))]


def test_a_pause_of_the_consumption_leaves_lag():
    load = Load([0.0] * 15 + [200.0] + [10.0] * 60, capacity=10.0, partitions=12)

    calm = replay(POLICY, load, 1, no_pause)
    paused = replay(POLICY, load, 1, lambda _: 5.0)

    assert calm.scales[0] == paused.scales[0]
    assert sum(paused.lags) > sum(calm.lags)


def test_the_lag_includes_what_is_handled_and_not_committed_yet():
    """100 records per second, committed every 5 s: 250 records of lag."""
    load = Load([100.0] * 60, capacity=100.0, partitions=12, commit_s=5.0)

    assert replay(POLICY, load, 1, no_pause).scales[0] == (0, Scale(1, 3))
