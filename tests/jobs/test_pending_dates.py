"""What bronze has that the other tables do not know: by commit, by partition, by cluster."""

from datetime import date

import pytest
from delta.tables import DeltaTable

from jobs import __version__
from jobs.lake.tables import Lake
from jobs.nightly_run.pending_dates import Pending, pending

MONDAY, TUESDAY, WEDNESDAY = date(2026, 11, 16), date(2026, 11, 17), date(2026, 11, 18)
TIMELESS = date(1970, 1, 1)


def record(offset, day, cluster="c"):
    return {"log_offset": offset, "event_date": day, "cluster_id": cluster, "key_type": 2}


def run(known, *, at=1, outcome="done", version=__version__, day=None, own=None):
    return {
        "first_date": day,
        "last_date": day,
        "own_versions": own,
        "run_id": f"run-{at}",
        "step": "nightly",
        "started_at": at,
        "seconds": 1.0,
        "outcome": outcome,
        "bronze_versions": known,
        "versions": {"regroup": version},
    }


@pytest.fixture
def lake(spark, tmp_path, write_lake):
    write_lake(tmp_path, {"offsets_records": [record(0, MONDAY)]})
    return Lake(spark, str(tmp_path), "c")


@pytest.fixture
def add(frame, lake):
    def append(table, *rows):
        rows = frame(table, list(rows))
        rows.write.format("delta").mode("append").save(lake.path(table))

    return append


def test_without_a_good_run_everything_is_pending(lake, write_lake):
    everything = Pending(
        frozenset({MONDAY}), {"offsets_records": 0}, {"offsets_records": -1}, recompute_all=True
    )
    assert pending(lake) == everything

    write_lake(lake.root, {"runs": [run({"offsets_records": 0}, outcome="failed")]})
    assert pending(lake) == everything


def test_a_first_run_for_all_dates_there_are_leaves_nothing_pending(lake, add):
    assert pending(lake).after(MONDAY, MONDAY) == {"offsets_records": 0}

    add("offsets_records", record(1, TUESDAY))

    assert pending(lake).after(MONDAY, TUESDAY) == {"offsets_records": 1}
    assert pending(lake).after(TUESDAY, TUESDAY) == {"offsets_records": -1}


def test_after_a_good_run_only_dates_that_got_something_are(lake, write_lake, add):
    write_lake(lake.root, {"runs": [run({"offsets_records": 0})]})
    assert pending(lake).dates == frozenset()

    add("offsets_records", record(1, TUESDAY))
    add("offsets_records", record(2, WEDNESDAY, cluster="another"))
    found = pending(lake)

    assert found.dates == {TUESDAY}
    assert (found.versions, found.known) == ({"offsets_records": 2}, {"offsets_records": 0})


def test_compaction_is_no_news(lake, write_lake, add):
    add("offsets_records", record(1, MONDAY))
    write_lake(lake.root, {"runs": [run({"offsets_records": 1})]})

    DeltaTable.forPath(lake.spark, lake.path("offsets_records")).optimize().executeCompaction()

    assert pending(lake).versions == {"offsets_records": 2}
    assert pending(lake).dates == frozenset()


def test_a_date_that_is_kept_no_more_is_no_news(lake, write_lake, add):
    add("offsets_records", record(1, TUESDAY))
    write_lake(lake.root, {"runs": [run({"offsets_records": 1})]})

    DeltaTable.forPath(lake.spark, lake.path("offsets_records")).delete(f"event_date < '{TUESDAY}'")

    assert pending(lake).dates == frozenset()


def test_the_newest_good_run_counts_and_only_of_this_version(lake, write_lake, add):
    add("offsets_records", record(1, TUESDAY))
    newest = run({"offsets_records": 1}, at=2)
    write_lake(lake.root, {"runs": [run({"offsets_records": 0}, at=1), newest]})
    assert pending(lake).dates == frozenset()

    assert not pending(lake).recompute_all

    add("runs", run({"offsets_records": 1}, at=3, version="0.0.1"))
    assert pending(lake).recompute_all


def test_records_without_a_time_may_belong_anywhere(lake, write_lake, add):
    write_lake(lake.root, {"runs": [run({"offsets_records": 0})]})

    add("offsets_records", record(1, TIMELESS))

    assert pending(lake).dates is None


def test_a_bronze_table_that_is_new_is_news(lake, write_lake):
    write_lake(lake.root, {"runs": [run({"offsets_records": 0})]})
    line = {"event": "JOIN", "event_time": 0, "position": 0, "event_date": TUESDAY}
    write_lake(lake.root, {"broker_log_events": [line]})

    assert pending(lake).dates == {TUESDAY}


@pytest.mark.parametrize(
    ("first", "last", "known"),
    [
        (None, None, {"offsets_records": 9}),
        (MONDAY, TUESDAY, {"offsets_records": 9}),
        (TUESDAY, TUESDAY, {"offsets_records": 3}),
    ],
)
def test_a_run_for_some_dates_leaves_the_others_pending(first, last, known):
    news = Pending(frozenset({MONDAY, TUESDAY}), {"offsets_records": 9}, {"offsets_records": 3})

    assert news.after(first, last) == known


def test_two_dates_at_once_leave_nothing_pending(lake, write_lake, add):
    """Each run sees the other's news, and works out its own date only."""
    add("offsets_records", record(1, TUESDAY))
    before, now = {"offsets_records": -1}, {"offsets_records": 1}
    runs = [run(before, at=at, day=day, own=now) for at, day in [(1, MONDAY), (2, TUESDAY)]]
    write_lake(lake.root, {"runs": runs})
    assert pending(lake).dates == frozenset()

    add("offsets_records", record(2, MONDAY))
    add("offsets_records", record(3, WEDNESDAY))
    found = pending(lake)

    assert found.dates == {MONDAY, WEDNESDAY}
    assert found.after(MONDAY, WEDNESDAY) == {"offsets_records": 3}


def test_a_run_that_ends_late_takes_nothing_back(lake, write_lake, add):
    add("offsets_records", record(1, TUESDAY))
    runs = [
        run({"offsets_records": 1}, at=1),
        run({"offsets_records": -1}, at=2, day=TUESDAY, own={"offsets_records": 1}),
    ]
    write_lake(lake.root, {"runs": runs})

    assert pending(lake).dates == frozenset()
