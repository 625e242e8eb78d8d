"""The lake as a database: existing tables are registered, missing ones are listed."""

import pytest
from deltalake import DeltaTable, write_deltalake

from jobs.console.errors import UsageError
from jobs.lake.sql import query
from jobs.register import RegisterOptions, create_view, register_in
from schemas import table_names, view_names
from tests.engines import spark_only
from tests.jobs.test_views import EPISODES, episode, generation, history

in_metastore = spark_only("Spark's metastore")


def planted(write_lake, root, outcomes):
    """A lake with one generation and its rebalance per outcome."""
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


@in_metastore
def test_existing_tables_and_the_views_over_them_are_registered(
    spark, write_lake, database, tmp_path
):
    root = planted(write_lake, tmp_path / 'it\'s `a` "lake" 100%', ["stable", "stable"])

    rows = list(register_in(spark, RegisterOptions(root, database)))

    assert [row[0] for row in rows if row[1] == "table"] == table_names()
    previous = "rebalance_latency_previous_names"
    assert sorted({row[0] for row in rows if row[1] == "view"} - {previous}) == view_names()
    registered = {name for name, _, is_registered, _ in rows if is_registered}
    assert registered == {
        "generations",
        "rebalance_latency",
        previous,
        "generation_gaps",
        "logical_rebalances",
        "rebalance_counts",
        "q02_each_rebalance",
        "q02_rebalance_durations",
    }
    assert ["churn", "table", False, "not in the lake"] in rows
    assert ["q12_what_if", "view", False, "needs advice, what_if"] in rows
    assert spark.table(f"{database}.q02_each_rebalance").count() == 2
    for view in (previous, "q02_each_rebalance"):
        assert spark.table(f"{database}.{view}").select("end_time").count() == 2
    assert "to_time" not in spark.table(f"{database}.{previous}").columns


ONE_WITHOUT_COST = episode(
    9, "shutdown", "x", 0, group="i", generations=[], rebalances=0, not_stable_ms=0
)


@in_metastore
@pytest.mark.embedded_suffices
def test_views_of_episodes_have_the_rows_in_spark_that_they_have_without(
    spark, write_lake, database, tmp_path
):
    episodes = [*EPISODES, ONE_WITHOUT_COST, ONE_WITHOUT_COST | {"episode": 10}]
    tables = history(generation(1, 0, 100), generation(2, 1000, 1500)) | {"episodes": episodes}
    missing = {name: [] for name in table_names() if name not in tables}
    root = write_lake(tmp_path / "lake", tables | missing)
    list(register_in(spark, RegisterOptions(root, database)))

    for view in ("q01_episodes", "q01_most_rebalanced_groups"):
        columns, rows = query(root, f"SELECT * FROM {view}")
        # Times are not compared. DuckDB and Spark give them different types.
        others = [name for name in columns if not name.endswith("_time")]
        places = [columns.index(name) for name in others]
        in_spark = spark.table(f"{database}.{view}").select(*others).collect()

        assert len(rows) > 0
        expected = [tuple(row[place] for place in places) for row in rows]
        assert sorted(map(str, map(tuple, in_spark))) == sorted(map(str, expected)), view


@in_metastore
def test_registering_another_lake_replaces_the_first(spark, write_lake, database, tmp_path):
    first = planted(write_lake, tmp_path / "first", ["stable"])
    second = planted(write_lake, tmp_path / "second lake, 'new'", ["stable", "empty", "stable"])

    list(register_in(spark, RegisterOptions(first, database)))
    list(register_in(spark, RegisterOptions(second, database)))
    again = list(register_in(spark, RegisterOptions(second, database)))

    assert spark.table(f"{database}.q02_each_rebalance").count() == 3
    assert spark.read.format("delta").load(f"{first}/generations").count() == 1
    assert ["generations", "table", True, ""] in again


@in_metastore
def test_tables_that_the_new_lake_lacks_are_removed(spark, write_lake, database, tmp_path):
    first = planted(write_lake, tmp_path / "first", ["stable"])
    second = write_lake(
        tmp_path / "second", {"generations": [{"group_id": "g", "generation": 1, "gap_before": 1}]}
    )

    list(register_in(spark, RegisterOptions(first, database)))
    list(register_in(spark, RegisterOptions(second, database)))

    listed = spark.sql(f"SHOW TABLES IN {database}").where("NOT isTemporary").collect()
    names = {row.tableName for row in listed}
    assert names == {"generations", "generation_gaps", "rebalance_counts"}


@in_metastore
def test_the_current_database_of_the_session_stays(spark, write_lake, database, tmp_path):
    root = planted(write_lake, tmp_path / "lake", ["stable"])

    list(register_in(spark, RegisterOptions(root, database)))

    assert spark.catalog.currentDatabase() == "default"


@in_metastore
def test_a_table_of_another_program_stays(spark, write_lake, database, tmp_path):
    root = planted(write_lake, tmp_path / "lake", ["stable"])
    spark.sql(f"CREATE DATABASE {database}")
    spark.sql(f"CREATE TABLE {database}.generations (x INT) USING parquet")

    with pytest.raises(
        UsageError, match=r"its table generations was not created by Regroup; use another"
    ):
        list(register_in(spark, RegisterOptions(root, database)))

    assert spark.table(f"{database}.generations").columns == ["x"]


def test_quotes_in_comments_are_escaped():
    statement = create_view("q02_each_rebalance")

    assert "stable_time COMMENT 'time at which the leader\\'s assignment was stored; " in statement


@pytest.mark.parametrize(
    ("lake", "database", "message"),
    [
        ("nowhere", "regroup", r"--lake .*nowhere: no such folder; `regroup nightly` creates one"),
        ("", "two words", r"--database two words: use letters, digits and _"),
    ],
)
def test_wrong_options_are_refused(tmp_path, lake, database, message):
    with pytest.raises(UsageError, match=message):
        RegisterOptions(f"{tmp_path}/{lake}", database).check()


@in_metastore
def test_a_lake_of_the_previous_version_is_refused(spark, write_lake, database, tmp_path):
    """Views that read the present names cannot be created over it."""
    root = planted(write_lake, tmp_path / "new", ["stable"])
    latency = DeltaTable(f"{root}/rebalance_latency").to_pyarrow_table()
    names = ["end_time" if name == "to_time" else name for name in latency.column_names]
    old = str(tmp_path / "old")
    write_deltalake(f"{old}/rebalance_latency", latency.rename_columns(names))

    with pytest.raises(UsageError, match="rebalance_latency has column names of the previous"):
        list(register_in(spark, RegisterOptions(old, database)))


@in_metastore
def test_a_folder_without_tables_is_refused(spark, tmp_path):
    with pytest.raises(UsageError, match="the lake has no tables; run `regroup nightly` first"):
        list(register_in(spark, RegisterOptions(str(tmp_path))))
