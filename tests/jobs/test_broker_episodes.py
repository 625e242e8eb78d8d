"""The job broker_episodes on a lake."""

import pytest

from jobs import broker_episodes
from jobs.lake.opening import open_lake
from jobs.lake.scope import scope_of
from schemas import table_names

pytestmark = pytest.mark.embedded_suffices
START = 1_795_219_200_000  # 2026-11-21T00:00Z


def starting(number):
    at_ms = START + 40_000 * number
    line = {"event": "OTHER", "step": "starting_up", "level": "INFO", "position": number}
    return line | {"event_time": at_ms, "line": "Starting up."}


def test_a_broker_in_a_crash_loop_has_an_episode_per_start(spark, write_lake, tmp_path):
    tables = {table: [] for table in table_names() if table != "broker_episodes"}
    tables["broker_log_events"] = [starting(number) for number in range(400)]
    lake = open_lake(spark, write_lake(tmp_path / "lake", tables), "c")

    broker_episodes.run(scope_of(lake, None, None))

    stored = lake.read("broker_episodes").groupBy("kind", "confidence").count().collect()
    assert [tuple(each) for each in stored] == [("broker_restart", 0.7, 399)]
