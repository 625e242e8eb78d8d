"""Outages of the coordinator, and the clients that lost their session in them."""

import pytest
from pyspark.sql import functions as F

from jobs.lake.outages import lost_by_most, lost_session_ms, outages

LAST_COMMIT, LOADED = 100_000, 117_000
# (load, last commit of its partition) per group -> outages (since, until) of each group
WAVES = {
    "a broker that is killed is silent from its last record to the load": (
        {"a": (LOADED, LAST_COMMIT), "b": (LOADED + 400, LAST_COMMIT - 3_000)},
        {(LAST_COMMIT, LOADED + 400)},
    ),
    "a move without an outage": ({"a": (LAST_COMMIT + 2_500, LAST_COMMIT)}, set()),
    "nothing shows when a partition without records was left": (
        {"a": (LAST_COMMIT + 121_000, LAST_COMMIT)},
        set(),
    ),
}


@pytest.mark.parametrize("engine", ["embedded"], indirect=True)
@pytest.mark.parametrize("wave", WAVES)
def test_outages(frame, wave):
    loads, expected = WAVES[wave]
    timeline, committed = [], []
    for place, (group, (loaded_ms, committed_ms)) in enumerate(loads.items()):
        of = {"group_id": group, "topic_partition": f"__consumer_offsets-{place}"}
        timeline.append(of | {"seq": 2, "event": "LOADED", "event_time": loaded_ms})
        committed.append(of | {"log_offset": 9, "partition": 0, "append_time": committed_ms})

    rows = outages(frame("timeline", timeline), frame("committed_offsets", committed)).collect()

    assert {(row.since_ms, row.until_ms) for row in rows} == expected
    assert {row.group_id for row in rows} == (set(loads) if expected else set())


@pytest.mark.parametrize("engine", ["embedded"], indirect=True)
@pytest.mark.parametrize(
    ("joined_ms", "session_ms", "lost_ms"),
    [
        # The member joins at once, because the next coordinator is there.
        (118_200, 20_000, 118_200),
        # The join is a session timeout after the last heartbeat, before the load.
        (117_100, 10_000, 108_500),
        (116_900, 20_000, None),  # No client's session has expired yet.
        (124_000, 20_000, None),  # The join is too late, so the client was restarted.
    ],
)
def test_lost_sessions(spark, joined_ms, session_ms, lost_ms):
    row = spark.createDataFrame([(LAST_COMMIT, LOADED)], "since_ms BIGINT, until_ms BIGINT")

    lost = row.select(lost_session_ms(F.lit(joined_ms), F.lit(session_ms))).collect()

    assert lost[0][0] == lost_ms


@pytest.mark.parametrize("engine", ["embedded"], indirect=True)
@pytest.mark.parametrize(("size", "lost"), [(4, []), (2, ["a"]), (None, ["a"])])
def test_a_single_process_of_many_that_is_back_after_an_outage_was_restarted(spark, size, lost):
    """One process of a group of this size joins again when its session would be over."""
    columns = "cluster_id STRING, group_id STRING, since_ms BIGINT, process STRING, size BIGINT"
    rows = spark.createDataFrame([("c", "g", LAST_COMMIT, "a", size)], columns)

    assert [row.process for row in lost_by_most(rows).collect()] == lost
