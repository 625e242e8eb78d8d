"""The lake as a database: what is there is registered, what is not is said."""

import pytest

from jobs.console.errors import UsageError
from jobs.register import RegisterOptions, create_view, register_in
from schemas import table_names, view_names


def planted(write_lake, root, outcomes):
    """A lake of a generation for each outcome, and the rebalances that made them."""
    places = [{"group_id": "g", "generation": n} for n in range(1, len(outcomes) + 1)]
    return write_lake(
        root,
        {
            "generations": [
                place | {"outcome": outcome, "gap_before": 1}
                for place, outcome in zip(places, outcomes, strict=True)
            ],
            "rebalance_latency": [place | {"total_ms": 100} for place in places],
        },
    )


@pytest.fixture
def database(spark):
    yield "registered"
    spark.sql("DROP DATABASE IF EXISTS registered CASCADE")


def test_tables_and_the_views_that_rest_on_them(spark, write_lake, database, tmp_path):
    root = planted(write_lake, tmp_path / "lake", ["stable", "stable"])

    rows = list(register_in(spark, RegisterOptions(root, database)))

    assert [row[0] for row in rows if row[1] == "table"] == table_names()
    assert sorted(row[0] for row in rows if row[1] == "view") == view_names()
    there = {name for name, _, registered, _ in rows if registered}
    assert there == {
        "generations",
        "rebalance_latency",
        "generation_gaps",
        "logical_rebalances",
        "q02_each_rebalance",
        "q02_rebalance_durations",
    }
    assert ["churn", "table", False, "not in the lake"] in rows
    assert ["q12_what_if", "view", False, "rests on advice, what_if"] in rows
    assert spark.table(f"{database}.q02_each_rebalance").count() == 2


def test_registered_again_it_is_the_other_lake(spark, write_lake, database, tmp_path):
    first = planted(write_lake, tmp_path / "first", ["stable"])
    second = planted(write_lake, tmp_path / "second lake, 'new'", ["stable", "empty", "stable"])

    list(register_in(spark, RegisterOptions(first, database)))
    list(register_in(spark, RegisterOptions(second, database)))
    again = list(register_in(spark, RegisterOptions(second, database)))

    assert spark.table(f"{database}.q02_each_rebalance").count() == 3
    assert spark.read.format("delta").load(f"{first}/generations").count() == 1
    assert ["generations", "table", True, ""] in again


def test_what_the_lake_lacks_now_does_not_stay_of_another(spark, write_lake, database, tmp_path):
    first = planted(write_lake, tmp_path / "first", ["stable"])
    second = write_lake(
        tmp_path / "second", {"generations": [{"group_id": "g", "generation": 1, "gap_before": 1}]}
    )

    list(register_in(spark, RegisterOptions(first, database)))
    list(register_in(spark, RegisterOptions(second, database)))

    listed = spark.sql(f"SHOW TABLES IN {database}").where("NOT isTemporary").collect()
    names = {row.tableName for row in listed}
    assert names == {"generations", "generation_gaps"}


def test_the_session_stays_in_its_database(spark, write_lake, database, tmp_path):
    root = planted(write_lake, tmp_path / "lake", ["stable"])

    list(register_in(spark, RegisterOptions(root, database)))

    assert spark.catalog.currentDatabase() == "default"


def test_a_table_that_is_not_ours_stays(spark, write_lake, database, tmp_path):
    root = planted(write_lake, tmp_path / "lake", ["stable"])
    spark.sql(f"CREATE DATABASE {database}")
    spark.sql(f"CREATE TABLE {database}.generations (x INT) USING parquet")

    with pytest.raises(UsageError, match=r"it has a table generations of its own; give another"):
        list(register_in(spark, RegisterOptions(root, database)))

    assert spark.table(f"{database}.generations").columns == ["x"]


def test_comments_with_quotes():
    statement = create_view("q02_each_rebalance")

    assert "stable_time COMMENT 'assigned: the leader\\'s assignment was stored'" in statement


@pytest.mark.parametrize(
    ("lake", "database", "said"),
    [
        ("nowhere", "regroup", r"--lake .*nowhere: no such folder; `regroup nightly` makes one"),
        ("", "two words", r"--database two words: give letters, digits and _"),
    ],
)
def test_wrong_arguments(tmp_path, lake, database, said):
    with pytest.raises(UsageError, match=said):
        RegisterOptions(f"{tmp_path}/{lake}", database).check()


def test_a_folder_that_is_no_lake(spark, tmp_path):
    with pytest.raises(UsageError, match="no tables in it; run `regroup nightly` first"):
        list(register_in(spark, RegisterOptions(str(tmp_path))))
