"""Process lives inferred from records and logs, compared with the script of the real processes."""

from itertools import groupby

import pytest

from coordinator_core.incident import explain, incarnations
from coordinator_core.lives import classify_lives, identify_processes, is_flapping, memberships_of
from tests.core.incident.incident_rows import last_commits, of_example, of_twins, truth_of_twins

# Each row has the seconds after the script began, and the action. kill is SIGKILL; slow is 35 s
# without a poll.
SCRIPTS = {
    "orders": """
        0 start 1; 0.4 start 2; 0.8 start 3; 1.2 start 4; 1.6 start 5; 2 start 6; 22 stop 1;
        25 start 1; 28 stop 2; 31 start 2; 34 stop 3; 37 start 3; 40 stop 4; 43 start 4;
        46 stop 5; 49 start 5; 52 stop 6; 55 start 6; 66 kill 2; 71 start 2; 82 kill 3;
        97 start 3; 116 kill 4; 116 kill 1; 118 start 4; 118 start 1; 136 stop 6; 148 start 6;
        158 slow 5; 170 kill 2; 175 start 2""",
    "clicks": """
        0.7 start 1; 1 start 2; 1.3 start 3; 1.6 start 4; 1.9 start 5; 2.2 start 6; 2.5 start 7;
        2.8 start 8; 3.1 start 9; 22.7 stop 1; 22.7 stop 2; 22.7 stop 3; 26.7 start 1;
        26.7 start 2; 26.7 start 3; 34.7 stop 4; 34.7 stop 5; 34.7 stop 6; 38.7 start 4;
        38.7 start 5; 38.7 start 6; 46.7 stop 7; 46.7 stop 8; 46.7 stop 9; 50.7 start 7;
        50.7 start 8; 50.7 start 9; 66.7 kill 2; 66.7 kill 3; 71.7 start 2; 71.7 start 3;
        82.7 kill 5; 97.7 start 5; 116.7 kill 4; 118.7 start 4; 136.7 stop 9; 136.7 stop 8;
        148.7 start 9; 148.7 start 8; 158.7 slow 6""",
    "invoices": """
        5 start 1; 6.5 start 2; 8 start 3; 25.4 stop 1; 29.4 start 1; 35.4 stop 2; 39.4 start 2;
        45.4 stop 3; 49.4 start 3; 68.4 kill 2; 73.4 start 2; 84.4 kill 3; 99.4 start 3;
        118.4 kill 1; 120.4 start 1; 150.4 slow 2""",
}
GROUPS = ["base", "cooperative", "session", "delay"]
SLOW_MS = 35_000
# Delay until the coordinator receives a request: a signal is sent up to 140 ms late, a JVM needs
# seconds to start, and a consumer that closes or rejoins during a rebalance waits until the
# rebalance ends.
UP_MS = {"orders": 500, "clicks": 500, "invoices": 6000}
CLOSED_MS = {"cooperative": 5500, "session": 4500}
EARLY_MS = 20


def script(family):
    """By process: its actions in order, (ms, action)."""
    entries = [each.split() for each in SCRIPTS[family].split(";")]
    by_process = sorted((f"{family}-{n}", float(at) * 1000, what) for at, what, n in entries)
    return {name: [each[1:] for each in acts] for name, acts in groupby(by_process, lambda e: e[0])}


def read(evidence, group):
    explained = explain(incarnations(group, evidence.events[group], evidence.records[group]))
    memberships = memberships_of(explained.incarnations)
    commits = last_commits(evidence, group, explained)
    return identify_processes(memberships, last_commit_ms=commits)


def twins(version):
    """Each group and its rows."""
    for evidence in of_twins(version):
        for group in evidence.groups():
            yield group, evidence


def dynamic(version):
    return [
        pytest.param(version, group, evidence, id=f"{version}-{group}")
        for group, evidence in twins(version)
        if group.split("-")[-1] in GROUPS
    ]


@pytest.mark.parametrize(("version", "group", "evidence"), dynamic("3.9.1") + dynamic("4.1.2"))
def test_inferred_lives_equal_the_script(version, group, evidence):
    family, variant = group.split("-")
    began_ms = truth_of_twins(version)[group]["t0_wall_ms"]
    closed_ms = CLOSED_MS.get(variant, 500)

    processes = {process.name: process.lives for process in read(evidence, group)}

    expected = script(family)
    assert processes.keys() == expected.keys()
    for name, actions in expected.items():
        begun = [at for at, what in actions if what == "start"]
        ended = [(at, what == "kill") for at, what in actions if what in ("stop", "kill")]
        slow = [at for at, what in actions if what == "slow"]
        assert [life.client_id for life in processes[name]] == [name] * len(begun)
        for life, at in zip(processes[name], begun, strict=True):
            assert 0 <= life.started.at_ms - began_ms - at <= UP_MS[family], (name, at)
        for life, (at, is_killed) in zip(processes[name], ended, strict=False):
            assert life.killed == is_killed, (name, at)
            assert life.ended.earliest_ms - began_ms - closed_ms <= at, (name, at)
            assert at <= life.ended.latest_ms - began_ms + EARLY_MS, (name, at)
        away = [each for life in processes[name] for each in life.slow_polls]
        for each, at in zip(away, slow, strict=True):
            assert each.began.earliest_ms - began_ms - 500 <= at
            assert at <= each.began.latest_ms - began_ms + 500
            assert 0 <= each.to.at_ms - began_ms - at - SLOW_MS <= closed_ms


@pytest.mark.parametrize("version", ["3.9.1", "4.1.2"])
def test_static_members_are_processes_too(version):
    (evidence,) = [e for g, e in twins(version) if g == "orders-static"]

    processes = {p.name: p for p in read(evidence, "orders-static")}

    lived = {name: len(process.lives) for name, process in processes.items()}
    assert lived == dict(zip((f"orders-{n}" for n in range(1, 7)), (3, 4, 3, 3, 2, 3), strict=True))
    assert [len(life.slow_polls) for life in processes["orders-5"].lives] == [0, 1]  # it never left
    assert all(process.instance_id == name for name, process in processes.items())


@pytest.mark.parametrize("version", ["3.9.1", "4.1.2"])
def test_life_kinds(version):
    (evidence,) = [e for g, e in twins(version) if g == "orders-base"]
    processes = read(evidence, "orders-base")

    kinds = classify_lives(processes)

    deployed = {f"orders-{n}": 1 for n in range(1, 7)}
    assert {name: each.deploy for (name, n), each in kinds.items() if n == 1} == deployed
    ends = {name: [] for name in deployed}
    for (name, _), each in kinds.items():
        ends[name].append(each.ended_how.value)
    assert ends == {
        "orders-1": ["stopped", "session_expired", "shut_down"],
        "orders-2": ["stopped", "session_expired", "session_expired", "shut_down"],
        "orders-3": ["stopped", "session_expired", "shut_down"],
        "orders-4": ["stopped", "session_expired", "shut_down"],
        "orders-5": ["stopped", "shut_down"],
        "orders-6": ["stopped", "stopped", "shut_down"],
    }
    assert not any(map(is_flapping, processes))


@pytest.mark.parametrize("version", ["3.9.1", "4.1.2"])
def test_life_kinds_with_every_client_library(version):
    evidence = of_example(version)

    def kinds_and_slow(group):
        processes = read(evidence, group)
        return {
            f"{name} {n + 1}": (each.started_how.value, each.ended_how.value)
            for (name, n), each in classify_lives(processes).items()
        }, [p.name for p in processes if any(life.slow_polls for life in p.lives)]

    assert kinds_and_slow("analytics-cooperative") == (
        {f"analytics-{n} 1": ("start", "shut_down") for n in range(1, 5)}
        | {f"analytics-{n} 1": ("scale_out", "shut_down") for n in (5, 6)},
        ["analytics-2"],
    )
    kinds, slow = kinds_and_slow("audit-python")
    assert kinds == {f"audit-{n} 1": ("start", "shut_down") for n in (1, 2)}
    assert slow == ["audit-1"]
    kinds, slow = kinds_and_slow("reports-java")
    assert kinds == {
        "reports-1 1": ("start", "session_expired"),
        "reports-1 2": ("crash_restart", "shut_down"),
        "reports-2 1": ("start", "shut_down"),
        "reports-3 1": ("scale_out", "shut_down"),
    }
    kinds, slow = kinds_and_slow("billing-eager")
    assert [kinds[f"billing-{n} 2"][0] for n in range(1, 7)] == ["rolling_deploy"] * 6
    assert kinds["billing-3 2"][1] == "session_expired"
    assert slow == []


@pytest.mark.parametrize("version", ["4.1.2", "4.4.0"])
def test_processes_that_closed_while_a_join_waited_for_a_slow_application(version):
    """orders-2 was stopped at 30 s and orders-3 at 36 s, each for 2 s; orders-4 did not poll from
    18 s to 68 s, so the join of the rebalance at 24 s ended at 48 s, and then both leaves."""
    script = "next-slow-polls-and-freezes"
    (evidence,) = of_twins(version, script)
    group = "orders-base"
    t0_ms = truth_of_twins(version, script)[group]["t0_wall_ms"]
    explained = explain(incarnations(group, evidence.events[group], evidence.records[group]))

    processes = identify_processes(memberships_of(explained.incarnations))

    lives = {each.name: each.lives for each in processes}
    for name, stopped_s in (("orders-2", 30), ("orders-3", 36)):
        first, second, *_ = lives[name]
        assert first.ended.earliest_ms < t0_ms + 1000 * stopped_s < first.ended.latest_ms
        assert 0 < second.started.at_ms - t0_ms - 1000 * (stopped_s + 2) < 300
