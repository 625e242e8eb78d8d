"""Tables as a run for some dates writes them, and tables whose making was broken off."""

from datetime import date

import pytest

from jobs.lake.dated_scope import of_dates
from jobs.lake.tables import Lake

MONDAY, TUESDAY = date(2026, 11, 16), date(2026, 11, 17)


@pytest.fixture
def root(tmp_path):
    return str(tmp_path / "lake")


def told(lake, table, *columns):
    return sorted(tuple(row) for row in lake.read(table).select(*columns).collect())


def test_a_table_whose_making_was_killed_is_not_there_and_is_made(spark, root, tmp_path, frame):
    (tmp_path / "lake" / "churn" / "_delta_log").mkdir(parents=True)
    lake = Lake(spark, root, "c")

    assert not lake.has("churn")
    assert lake.read("churn").isEmpty()

    lake.replace("churn", frame("churn", [{"group_id": "g", "generation": 1}]))
    assert told(lake, "churn", "group_id", "generation") == [("g", 1)]


@pytest.fixture(params=[None, 0], ids=["few events", "many events"])
def lake(spark, root, write_lake, request, monkeypatch):
    """A generation on Monday that a later one still completes, and one that is settled.

    Few events are held by the driver, many stay where they are.
    """
    if request.param is not None:
        monkeypatch.setattr("jobs.lake.dated_scope.MANY", request.param)
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
    return of_dates(Lake(spark, root, "c"), TUESDAY, TUESDAY)


def test_what_later_dates_may_change_is_replaced_and_what_is_settled_stays(lake, frame):
    made = [
        {"group_id": "g", "generation": 1, "event_date": MONDAY, "members_left": 7},
        {"group_id": "g", "generation": 2, "event_date": MONDAY, "members_left": 1},
        {"group_id": "g", "generation": 3, "event_date": TUESDAY, "members_left": 0},
    ]
    lake.replace("churn", frame("churn", made))

    columns = ("group_id", "generation", "members_left")
    assert told(Lake(lake.spark, lake.root, "c"), "churn", *columns) == [
        ("calm", 9, 0), ("g", 1, 0), ("g", 2, 1), ("g", 3, 0),
    ]  # fmt: skip
    # What is read is the group's, from its context on.
    assert told(lake, "churn", *columns) == [("g", 1, 0), ("g", 2, 1), ("g", 3, 0)]


def test_a_date_on_which_nothing_came_out_differently_is_not_written(lake, frame):
    made = [
        {"group_id": "g", "generation": 2, "event_date": MONDAY, "members_left": 0},
        {"group_id": "g", "generation": 3, "event_date": TUESDAY, "members_left": 0},
    ]
    files = {row[0] for row in Lake.read(lake, "churn").selectExpr("input_file_name()").collect()}
    lake.replace("churn", frame("churn", made))

    now = {row[0] for row in Lake.read(lake, "churn").selectExpr("input_file_name()").collect()}
    assert files < now


def test_dates_after_a_run_are_found_or_there_are_none(lake, spark, root):
    monday = of_dates(Lake(spark, root, "c"), date(2026, 11, 14), date(2026, 11, 15)).later()

    assert (monday.first, monday.last) == (MONDAY, MONDAY)
    assert lake.later() is None
