"""Every action of a script with groups of all types is a cause and an episode, and nothing else is.

Real processes played it on Kafka 4.4.0 and 4.1.2 (which has no share and streams groups): online
upgrades and downgrades, static members and a second process with a used instance id, regular
expressions, topics created, grown and deleted, kills, freezes, slow polls, stalled revocations.

Some actions show nowhere: a slow application of a share group, whose client sends its heartbeats in
the background (110 s jobs-2); a revocation callback that would have stalled, but was not called
(146 s shipping-1).
"""

from pathlib import Path

import pytest

from jobs import what_if_sweep
from jobs.checks.check import broken_laws
from jobs.lake.existing import open_existing_lake

pytestmark = pytest.mark.slow

# Time at which the script began, in ms since the epoch.
BEGAN_MS = {"4.4.0": 1795401358264, "4.1.2": 1795401187172}

DATA = Path(__file__).parents[1] / "data" / "twins"

ROUNDING = 0.1

CAUSES = """
    SELECT CAST(ROUND((epoch_ms(event_time) - {began_ms}) / 1000, 1) AS VARCHAR), group_id,
        CAST(incarnation AS VARCHAR), CAST(generation AS VARCHAR), role, cause,
        COALESCE(story, '-'), COALESCE(SPLIT_PART(process, '@', 1), '-')
    FROM rebalance_causes ORDER BY ALL"""
EPISODES = """
    SELECT group_id, kind, ROUND((epoch_ms(from_time) - {began_ms}) / 1000, 1),
        ROUND((epoch_ms(to_time) - {began_ms}) / 1000, 1), processes
    FROM episodes ORDER BY ALL"""


def actions_of(version):
    """Each action with its cause and the kind of its episode, as the files describe them."""
    lines = (DATA / f"mixed-protocols-{version}.txt").read_text().splitlines()
    return [line.split() for line in lines if not line.startswith("#")]


@pytest.fixture(params=["4.4.0", "4.1.2"])
def version(request):
    return request.param


@pytest.fixture
def lake(twins_by, version):
    return twins_by("embedded", "mixed-protocols", version)


def test_every_action_is_a_cause_and_no_other_cause_is_found(lake, version):
    rows = lake.rows(CAUSES.format(began_ms=BEGAN_MS[version]))

    assert sorted(rows) == sorted(tuple(line[3:11]) for line in actions_of(version))


def names_of(processes):
    return [process.partition("@")[0] for process in processes]


def test_every_action_is_in_an_episode_of_its_kind(lake, version):
    episodes = lake.rows(EPISODES.format(began_ms=BEGAN_MS[version]))

    for *_, second, group, _, _, _, _, _, process, kind in actions_of(version):
        [_] = [
            each
            for each in episodes
            if each[:2] == (group, kind)
            and each[2] - ROUNDING <= float(second) <= each[3] + ROUNDING
            and (process in names_of(each[4]) or not each[4] or process == "-")
        ]


def test_no_other_episode_is_found(lake, version):
    kinds = {(line[4], line[11]) for line in actions_of(version)}

    assert set(lake.rows("SELECT DISTINCT group_id, kind FROM episodes")) == kinds


def test_each_rebalance_has_one_trigger(lake):
    key = "SELECT group_id, incarnation, generation FROM"
    triggers = lake.rows(f"{key} rebalance_causes WHERE role = 'trigger' ORDER BY ALL")

    assert triggers == lake.rows(f"{key} generations ORDER BY ALL")


def test_the_lake_violates_no_law(lake):
    assert broken_laws(lake.root)[1] == []


# Each row: process, lives, lives with an expired session, slow polls.  All other processes have one
# life, without either.
LIVES = """
audit-1 2 0 0
billing-1 1 0 1
inventory-pod-1 2 0 0
inventory-pod-2 2 1 0
inventory-pod-3 2 0 0
ledger-1 3 0 0
ledger-2 4 1 0
legacy-2 1 0 1
legacy-3 2 1 0
search-1 3 0 0
search-2 3 1 0
search-3 2 0 0
shipping-1 2 0 0
shipping-2 3 1 1
shipping-3 2 0 2
shipping-4 1 0 1
"""


@pytest.mark.campaign
def test_process_lives_over_the_types_of_a_group(config, twins_by, tmp_path):
    lake = twins_by("embedded", "mixed-protocols", "4.1.2").copy(tmp_path)

    what_if_sweep.run(open_existing_lake(lake.root, "4.1.2", config), changes=(), seeds=1)

    rows = lake.rows("""
        SELECT name, COUNT(*) AS lives,
            COUNT(*) FILTER (ended_how = 'session_expired') AS expired,
            SUM(LEN(slow_polls)) AS slow FROM process_lives
        GROUP BY name HAVING lives > 1 OR expired > 0 OR slow > 0 ORDER BY name""")
    assert [" ".join(map(str, row)) for row in rows] == LIVES.split("\n")[1:-1]


# Each row: group, its assignor, targets, targets that the assignor reproduces.
REPRODUCED = {
    "4.4.0": """
audit-regex uniform 7 7
billing-consumer uniform 12 12
inventory-static uniform 8 8
ledger-rolled-back server-range 5 5
legacy-eager uniform 1 1
search-migrated uniform 6 6
shipping-librdkafka server-range 16 16
""",
    "4.1.2": """
audit-regex uniform 7 7
billing-consumer uniform 13 13
inventory-static uniform 8 8
ledger-rolled-back server-range 4 4
legacy-eager uniform 1 1
search-migrated uniform 6 6
shipping-librdkafka server-range 18 18
""",
}


def test_the_coordinators_assignors_give_the_same_targets(lake, version):
    """With static members, a regular expression, a conversion just before the target."""
    rows = lake.rows("""
        SELECT group_id, assignor, COUNT(*), COUNT(*) FILTER (equals_actual AND difference IS NULL)
        FROM assignor_quality WHERE own AND mode = 'step' AND partition_count_source = 'target'
        GROUP BY ALL ORDER BY ALL""")

    assert [" ".join(map(str, row)) for row in rows] == REPRODUCED[version].split("\n")[1:-1]
