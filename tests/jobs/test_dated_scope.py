"""Tables as a run for some dates reads and writes them."""

from datetime import date

import pytest
from deltalake import DeltaTable

from jobs.lake.opening import open_lake
from jobs.lake.scope import scope_of

MONDAY, TUESDAY = date(2026, 11, 16), date(2026, 11, 17)


@pytest.fixture
def root(tmp_path):
    return str(tmp_path / "lake")


def rows(tables, table, *columns):
    return sorted(tuple(row) for row in tables.read(table).select(*columns).collect())


def files(path):
    return set(DeltaTable(path).file_uris())


def test_a_table_whose_creation_was_killed_is_created(spark, root, tmp_path, frame):
    (tmp_path / "lake" / "churn" / "_delta_log").mkdir(parents=True)
    lake = open_lake(spark, root, "c")

    assert not lake.has("churn")
    assert lake.read("churn").isEmpty()

    lake.replace("churn", frame("churn", [{"group_id": "g", "generation": 1}]))
    assert rows(lake, "churn", "group_id", "generation") == [("g", 1)]


@pytest.fixture(params=[None, 0], ids=["few events", "many events"])
def scope(spark, root, write_lake, request, monkeypatch):
    """Tuesday's run; of Monday's generations 2 is open and 1 is settled.

    A few events are computed in one partition, many in several.
    """
    if request.param is not None:
        monkeypatch.setattr("jobs.lake.dated_scope.MANY_ROWS", request.param)
    write_lake(
        root,
        {
            "group_metadata": [
                {"group_id": "g", "event_date": day, "log_offset": offset}
                for day, offset in ((MONDAY, 1), (MONDAY, 2), (TUESDAY, 3))
            ],
            "group_days": [
                {
                    "group_id": "g", "event_date": MONDAY,
                    "open_incarnation": 1, "open_generation": 2, "open_seq": 20,
                    "context_incarnation": 1, "context_generation": 1, "context_seq": 10,
                    "context_date": MONDAY,
                }
            ],
            "churn": [
                {"group_id": "g", "generation": 1, "event_date": MONDAY, "members_left": 0},
                {"group_id": "g", "generation": 2, "event_date": MONDAY, "members_left": 0},
                {"group_id": "calm", "generation": 9, "event_date": MONDAY, "members_left": 0},
            ],
        },
    )  # fmt: skip
    return scope_of(open_lake(spark, root, "c"), TUESDAY, TUESDAY)


def test_open_rows_are_replaced_and_settled_rows_stay(scope, frame):
    computed = [
        {"group_id": "g", "generation": 1, "event_date": MONDAY, "members_left": 7},
        {"group_id": "g", "generation": 2, "event_date": MONDAY, "members_left": 1},
        {"group_id": "g", "generation": 3, "event_date": TUESDAY, "members_left": 0},
    ]
    scope.replace("churn", frame("churn", computed))

    columns = ("group_id", "generation", "members_left")
    assert rows(scope.lake, "churn", *columns) == [
        ("calm", 9, 0), ("g", 1, 0), ("g", 2, 1), ("g", 3, 0),
    ]  # fmt: skip
    # Only the group with new rows is read, from its context generation on.
    assert rows(scope, "churn", *columns) == [("g", 1, 0), ("g", 2, 1), ("g", 3, 0)]


def test_a_date_without_a_differing_row_is_not_written(scope, frame):
    computed = [
        {"group_id": "g", "generation": 2, "event_date": MONDAY, "members_left": 0},
        {"group_id": "g", "generation": 3, "event_date": TUESDAY, "members_left": 0},
    ]
    before = files(scope.lake.path("churn"))
    scope.replace("churn", frame("churn", computed))

    assert before < files(scope.lake.path("churn"))


def test_later_dates_are_those_stored_after_the_run(scope, spark, root):
    monday = scope_of(
        open_lake(spark, root, "c"), date(2026, 11, 14), date(2026, 11, 15)
    ).later_dates()

    assert (monday.first, monday.last) == (MONDAY, MONDAY)
    assert scope.later_dates() is None
