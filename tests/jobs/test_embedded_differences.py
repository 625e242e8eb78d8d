"""What Spark does and the embedded engine does not; docs/engines.md has the list.

Each test holds on Spark.  On the embedded engine it must fail: once it passes there, the code that
avoids the difference is no longer needed.
"""

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from jobs.lake.opening import open_lake


@pytest.fixture(autouse=True)
def _differs(request, engine):
    if engine == "embedded":
        request.applymarker(pytest.mark.xfail(strict=True, reason="differs from Spark"))


@pytest.fixture
def pairs(spark):
    return spark.createDataFrame([("a", 1), ("b", None)], "name STRING, number INT")


def test_a_union_types_the_columns_that_one_frame_lacks(pairs):
    union = pairs.select("name").unionByName(pairs, allowMissingColumns=True)

    assert dict(union.dtypes)["number"] == "int"


def test_a_field_of_a_struct_that_when_left_out_is_null(pairs):
    whole = F.struct("name")
    of_b = F.when(F.col("name") == "b", whole)

    assert [row[0] for row in pairs.select(of_b["name"], whole).collect()] == [None, "b"]


def test_a_cogroup_takes_columns_with_nulls(pairs):
    def counted(left, right):
        return pa.table({"rows": [left.num_rows + right.num_rows]})

    both = pairs.groupBy("name").cogroup(pairs.groupBy("name"))

    assert [row.rows for row in both.applyInArrow(counted, "rows LONG").collect()] == [2, 2]


def test_a_condition_with_a_lambda_filters_a_stored_table(spark, tmp_path, frame):
    lake = open_lake(spark, str(tmp_path), "c")
    deletion = {"groups": ["g", "h"], "event": "ADMIN_DELETE"}
    deletion |= {"position": 0, "event_time": 0}
    lake.replace("broker_log_events", frame("broker_log_events", [deletion]))

    has_g = F.exists("groups", lambda group: group == "g")

    assert lake.read("broker_log_events").where(has_g).count() == 1


def test_a_query_is_resolved_when_it_is_made(spark, pairs):
    pairs.createOrReplaceTempView("pairs")
    query = spark.sql("SELECT * FROM pairs")
    spark.catalog.dropTempView("pairs")

    assert query.count() == 2


def test_columns_of_no_columns_are_the_frame(pairs):
    assert pairs.withColumns({}).columns == ["name", "number"]


def test_a_schema_refuses_another_type(spark):
    wanted = spark.sql("SELECT array('x') AS members").schema

    with pytest.raises(Exception, match="members"):
        spark.sql("SELECT 1.5D AS members").to(wanted).collect()
