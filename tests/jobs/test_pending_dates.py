"""Which dates have bronze rows that no run has processed: by commit, date and cluster."""

from datetime import date

import pytest

from jobs import __version__
from jobs.lake.opening import open_lake
from jobs.nightly_run.pending_dates import PendingDates, pending

pytestmark = pytest.mark.embedded_suffices
MONDAY, TUESDAY, WEDNESDAY = date(2026, 11, 16), date(2026, 11, 17), date(2026, 11, 18)
TIMELESS = date(1970, 1, 1)


def record(offset, day, cluster="c"):
    return {"log_offset": offset, "event_date": day, "cluster_id": cluster, "key_type": 2}


def run(covered, *, at=1, outcome="done", version=__version__, day=None, own=None):
    return {
        "first_date": day,
        "last_date": day,
        "own_versions": own,
        "run_id": f"run-{at}",
        "step": "nightly",
        "from_time": at,
        "seconds": 1.0,
        "outcome": outcome,
        "bronze_versions": covered,
        "versions": {"regroup": version},
    }


@pytest.fixture
def lake(spark, tmp_path, write_lake):
    write_lake(tmp_path, {"offsets_records": [record(0, MONDAY)]})
    return open_lake(spark, str(tmp_path), "c")


@pytest.fixture
def add(frame, lake):
    def append(table, *rows):
        rows = frame(table, list(rows))
        rows.write.format("delta").mode("append").save(lake.path(table))

    return append


def test_without_a_successful_run_everything_is_pending(lake, write_lake):
    everything = PendingDates(
        frozenset({MONDAY}), {"offsets_records": 0}, {"offsets_records": -1}, recompute_all=True
    )
    assert pending(lake) == everything

    write_lake(lake.root, {"runs": [run({"offsets_records": 0}, outcome="failed")]})
    assert pending(lake) == everything


def test_a_first_run_for_all_stored_dates_leaves_nothing_pending(lake, add):
    assert pending(lake).covered_after(MONDAY, MONDAY) == {"offsets_records": 0}

    add("offsets_records", record(1, TUESDAY))

    assert pending(lake).covered_after(MONDAY, TUESDAY) == {"offsets_records": 1}
    assert pending(lake).covered_after(TUESDAY, TUESDAY) == {"offsets_records": -1}


def test_after_a_successful_run_only_dates_with_new_rows_are_pending(lake, write_lake, add):
    write_lake(lake.root, {"runs": [run({"offsets_records": 0})]})
    assert pending(lake).dates == frozenset()

    add("offsets_records", record(1, TUESDAY))
    add("offsets_records", record(2, WEDNESDAY, cluster="another"))
    new = pending(lake)

    assert new.dates == {TUESDAY}
    assert (new.versions, new.covered) == ({"offsets_records": 2}, {"offsets_records": 0})


@pytest.mark.every_time
def test_compaction_leaves_nothing_pending(lake, write_lake, add):
    add("offsets_records", record(1, MONDAY))
    write_lake(lake.root, {"runs": [run({"offsets_records": 1})]})

    lake.compact("offsets_records")

    assert pending(lake).versions == {"offsets_records": 2}
    assert pending(lake).dates == frozenset()


def test_a_deleted_date_is_not_pending(lake, write_lake, add):
    add("offsets_records", record(1, TUESDAY))
    write_lake(lake.root, {"runs": [run({"offsets_records": 1})]})

    lake.delete_rows("offsets_records", f"event_date < '{TUESDAY}'")

    assert pending(lake).dates == frozenset()


def test_the_newest_successful_run_counts_unless_another_version_made_it(lake, write_lake, add):
    add("offsets_records", record(1, TUESDAY))
    newest = run({"offsets_records": 1}, at=2)
    write_lake(lake.root, {"runs": [run({"offsets_records": 0}, at=1), newest]})
    assert pending(lake).dates == frozenset()

    assert not pending(lake).recompute_all

    add("runs", run({"offsets_records": 1}, at=3, version="0.0.1"))
    assert pending(lake).recompute_all


def test_new_records_without_a_time_make_all_dates_pending(lake, write_lake, add):
    write_lake(lake.root, {"runs": [run({"offsets_records": 0})]})

    add("offsets_records", record(1, TIMELESS))

    assert pending(lake).dates is None


def test_the_dates_of_a_new_bronze_table_are_pending(lake, write_lake):
    write_lake(lake.root, {"runs": [run({"offsets_records": 0})]})
    line = {"event": "JOIN", "event_time": 0, "position": 0, "event_date": TUESDAY}
    write_lake(lake.root, {"broker_log_events": [line]})

    assert pending(lake).dates == {TUESDAY}


@pytest.mark.parametrize(
    ("first", "last", "covered"),
    [
        (None, None, {"offsets_records": 9}),
        (MONDAY, TUESDAY, {"offsets_records": 9}),
        (TUESDAY, TUESDAY, {"offsets_records": 3}),
    ],
)
def test_a_run_for_some_dates_leaves_the_others_pending(first, last, covered):
    new = PendingDates(frozenset({MONDAY, TUESDAY}), {"offsets_records": 9}, {"offsets_records": 3})

    assert new.covered_after(first, last) == covered


def test_parallel_runs_for_two_dates_leave_nothing_pending(lake, write_lake, add):
    """Each run sees the rows of both dates and computes its own date only."""
    add("offsets_records", record(1, TUESDAY))
    before, now = {"offsets_records": -1}, {"offsets_records": 1}
    runs = [run(before, at=at, day=day, own=now) for at, day in [(1, MONDAY), (2, TUESDAY)]]
    write_lake(lake.root, {"runs": runs})
    assert pending(lake).dates == frozenset()

    add("offsets_records", record(2, MONDAY))
    add("offsets_records", record(3, WEDNESDAY))
    new = pending(lake)

    assert new.dates == {MONDAY, WEDNESDAY}
    assert new.covered_after(MONDAY, WEDNESDAY) == {"offsets_records": 3}


def test_a_run_that_ends_late_does_not_undo_a_newer_one(lake, write_lake, add):
    add("offsets_records", record(1, TUESDAY))
    runs = [
        run({"offsets_records": 1}, at=1),
        run({"offsets_records": -1}, at=2, day=TUESDAY, own={"offsets_records": 1}),
    ]
    write_lake(lake.root, {"runs": runs})

    assert pending(lake).dates == frozenset()
