"""KEDA and a HorizontalPodAutoscaler over a given load; expected numbers by their rules."""

from coordinator_core.whatif.autoscaler import Load, Policy, replay
from coordinator_core.whatif.deployments import Scale

POLICY = Policy(
    lag_threshold=100,
    min_replicas=1,
    max_replicas=10,
    polling_s=30,
    cooldown_s=60,
    stabilization_s=120,
)


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
    # The last time that more than one process was wanted is at 30 s.
    assert replayed.scales[-1] == (150, Scale(3, 1))


def test_at_most_four_processes_or_twice_as_many_start_at_once():
    load = Load([5000.0] + [0.0] * 60, capacity=1.0, partitions=20)

    replayed = replay(POLICY, load, 1, no_pause)

    assert [scale for _, scale in replayed.scales] == [Scale(1, 5), Scale(5, 10)]


def test_no_more_processes_than_partitions():
    load = Load([5000.0] + [0.0] * 60, capacity=1.0, partitions=3)

    assert max(replay(POLICY, load, 1, no_pause).replicas) == 3


def test_the_last_process_stops_after_the_cooldown_and_starts_when_keda_polls():
    load = Load([0.0] * 100 + [50.0] + [0.0] * 99, capacity=10.0, partitions=12)

    replayed = replay(POLICY._replace(min_replicas=0), load, 1, no_pause)

    # 60 s without lag; lag from 100 s on; KEDA polls at 120 s; the lag is 0 at 124 s.
    assert replayed.scales == [(60, Scale(1, 0)), (120, Scale(0, 1)), (185, Scale(1, 0))]


def test_a_step_limits_the_processes_that_stop_per_minute():
    load = Load([0.0] * 600, capacity=10.0, partitions=12)

    replayed = replay(POLICY._replace(step=1), load, 4, no_pause)

    assert replayed.scales == [(120, Scale(4, 3)), (180, Scale(3, 2)), (240, Scale(2, 1))]


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
