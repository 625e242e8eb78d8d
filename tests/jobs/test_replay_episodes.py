"""Replay leads with the episodes that overlap its period."""

from jobs.replay.episodes import group_episodes
from tests.jobs.test_views import episode, generation, handover, history

# Episode n lasts from n s to n s + 500 ms.
EPISODES = [
    episode(3, "slow_poll", "third", 1000),
    episode(1, "restart", "first", 1000),
    episode(2, "restart", "second", 2000),
    episode(2, "restart", "another group's", 2000, group="h"),
]


def test_the_episodes_of_the_group_that_overlap_the_period_in_order(write_lake, tmp_path):
    lake = write_lake(tmp_path / "lake", {"episodes": EPISODES})

    rows = group_episodes(lake, "c", "g", 1500, 2999)

    assert [(row["summary"], row["from_ms"], row["unowned_partition_ms"]) for row in rows] == [
        ("first", 1000, 1000),
        ("second", 2000, 2000),
    ]


def test_the_sentence_of_an_episode_has_its_costs(write_lake, tmp_path):
    killed = episode(2, "process_lost", "first", 2000) | {"generations": [3]}
    tables = {"episodes": [killed], "handover_costs": [handover(3, 7.0)], "unserved_times": []}
    lake = write_lake(tmp_path / "lake", tables)

    rows = group_episodes(lake, "c", "g", 1500, 2999)

    assert [row["summary"] for row in rows] == ["first, 7 records handled again"]


def test_a_lake_without_the_table_has_none(write_lake, tmp_path):
    lake = write_lake(tmp_path / "lake", history(generation(1, 0, 100)))

    assert group_episodes(lake, "c", "g", 0, 9000) == []
