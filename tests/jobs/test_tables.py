"""Lake: schemas are checked, and writes touch this cluster's rows only."""

import json
from datetime import date
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError
from deltalake.schema import Schema
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from jobs.console.errors import RunFailed
from jobs.engine.embedded import is_embedded
from jobs.lake.arrow_tables import delta_schema
from jobs.lake.checksums import checksum_file
from jobs.lake.integrity import damages
from jobs.lake.opening import open_lake
from jobs.lake.tables import conform, schema_of, schema_with_comments
from schemas import table_key, table_names, table_partitioning
from schemas.renamed import PRESENT_VALUES, renamed_values
from tests.engines import spark_only

ODD = "o'neil\\s"
MEMBER = {"group_id": "g", "generation": 1, "member_id": "a", "process": "p"}
LATENCY = {"group_id": "g", "generation": 1, "to_time": 1000}


def pairs(df, *columns):
    return sorted(tuple(row) for row in df.select(*columns).collect())


@pytest.mark.parametrize("table", table_names())
def test_a_table_begins_with_its_cluster_and_describes_every_column(table):
    schema = schema_with_comments(table)

    assert schema.names[0] == "cluster_id"
    assert [field.name for field in schema if not field.metadata.get("comment")] == []
    assert set(table_key(table)) | set(table_partitioning(table)) <= set(schema.names)
    nullable = {field.name for field in schema if field.nullable}
    assert not nullable & set(table_partitioning(table))


def test_conform_orders_and_casts_columns(spark):
    df = spark.sql(
        "SELECT 7L AS first_offset, 'c' AS cluster_id, 'segments' AS source, 'f' AS file,"
        " 'p' AS path, 1 AS bytes, 2 AS inputs, map(date'2026-11-21', 1) AS kept_by_date,"
        " 0 AS quarantined, 0 AS skipped, 0 AS unreadable_bytes, 't' AS topic_partition,"
        " null AS last_offset, null AS next_offset, null AS copies, null AS not_understood,"
        " null AS undated, null AS steps_back, null AS examples, null AS software,"
        " 'more' AS extra"
    )

    conformed = conform(df, "ingested_files")

    assert conformed.columns == schema_of("ingested_files").names
    types = [field.dataType.simpleString() for field in conformed.schema]
    assert types == [field.dataType.simpleString() for field in schema_of("ingested_files")]


def test_conform_refuses_a_missing_column(frame):
    with pytest.raises(AnalysisException, match="state_timestamp_ms"):
        conform(frame("timeline", []).drop("state_timestamp_ms"), "timeline").collect()


@spark_only("the embedded engine casts what can be cast")
def test_conform_refuses_another_type(frame):
    wrong = frame("timeline", []).drop("members").selectExpr("*", "1.5D AS members")

    with pytest.raises(AnalysisException, match="members"):
        conform(wrong, "timeline")


def counted(generation, moved, cluster="c"):
    return {
        "cluster_id": cluster,
        "group_id": "g",
        "generation": generation,
        "partitions_moved": moved,
    }


def test_replace_replaces_this_clusters_rows_only(spark, tmp_path, frame):
    odd = {name: open_lake(spark, str(tmp_path), name) for name in (ODD, "a/b")}
    for cluster, lake in odd.items():
        lake.replace("churn", frame("churn", [counted(1, 1, cluster), counted(2, 1, cluster)]))
    odd[ODD].replace("churn", frame("churn", [counted(3, 9, ODD)]))

    columns = ("cluster_id", "generation", "partitions_moved")
    assert pairs(odd[ODD].read("churn"), *columns) == [(ODD, 3, 9)]
    assert pairs(odd["a/b"].read("churn"), *columns) == [("a/b", 1, 1), ("a/b", 2, 1)]


def refused(lake, message):
    """The error for rows that a table refuses; delta-rs prints the rows, but not the rule."""
    if is_embedded(lake.spark):
        return pytest.raises(DeltaError, match="1 rows failed validation check")
    return pytest.raises((AnalysisException, Py4JJavaError), match=message)


def test_replace_refuses_another_clusters_rows(lake, frame):
    with refused(lake, "cluster_id=another"):
        lake.replace("churn", frame("churn", [counted(1, 1, "another")]))


def unreadable(position, reason, cluster="c"):
    return {"cluster_id": cluster, "file": "f", "position": position, "reason": reason}


def test_insert_new_leaves_existing_rows(spark, tmp_path, frame):
    own, other = (open_lake(spark, str(tmp_path), name) for name in ("c", "d"))
    other.insert_new("quarantine", frame("quarantine", [unreadable(1, "other's", "d")]))
    own.insert_new("quarantine", frame("quarantine", [unreadable(1, "first")]))

    own.insert_new(
        "quarantine", frame("quarantine", [unreadable(1, "again"), unreadable(2, "new")])
    )

    assert pairs(own.read("quarantine"), "position", "reason") == [(1, "first"), (2, "new")]
    assert pairs(other.read("quarantine"), "position", "reason") == [(1, "other's")]


HOUR_MS = 3_600_000


def record(offset, hour):
    time_ms = None if hour is None else hour * HOUR_MS
    return {"log_offset": offset, "append_time": time_ms, "key_type": 1}


def files(lake):
    uris = DeltaTable(lake.path("offsets_records")).file_uris()
    return {Path(unquote(urlsplit(uri).path)) for uri in uris}


def test_only_files_whose_times_overlap_the_new_rows_are_read(lake, frame, tmp_path):
    def land(*records):
        rows = frame("offsets_records", list(records))
        lake.insert_new("offsets_records", rows, timed_by="append_time")

    land(record(1, 1), record(2, 1))
    morning = files(lake)
    land(record(3, 5), record(6, None))
    for file in morning:
        file.rename(tmp_path / file.name)

    land(record(3, 5), record(4, 6))
    land(record(6, None))

    for file in morning:
        (tmp_path / file.name).rename(file)
    offsets = pairs(lake.read("offsets_records"), "log_offset")
    assert offsets == [(1,), (2,), (3,), (4,), (6,)]
    assert morning <= files(lake)


def test_the_delta_log_tells_how_many_rows_a_date_has_and_which_values_it_cannot_have(lake, frame):
    lake.append("offsets_records", frame("offsets_records", [record(1, 1), record(2, 1)]))
    day = lake.read("offsets_records").first().event_date

    ranges = [[day], [date(2000, 1, 1)], None]
    counts = [lake.rows_on_dates("offsets_records", dates) for dates in ranges]
    sources = [lake.may_hold("offsets_records", "source", name) for name in ("segments", "kafka")]
    assert counts == [2, 0, 2]
    assert sources == [True, False]
    assert lake.rows_on_dates("churn", [day]) == 0
    assert not lake.may_hold("churn", "group_id", "g")


def grown(file, inputs):
    return {"file": file, "path": file, "inputs": inputs, "kept_by_date": {}}


def test_upsert_overwrites_where_the_condition_holds(lake, frame):
    lake.upsert("ingested_files", frame("ingested_files", [grown("a", 5), grown("b", 5)]))

    lake.upsert(
        "ingested_files",
        frame("ingested_files", [grown("a", 9), grown("b", 2), grown("c", 1)]),
        if_="n.inputs >= t.inputs",
    )

    assert pairs(lake.read("ingested_files"), "file", "inputs") == [("a", 9), ("b", 5), ("c", 1)]


@pytest.mark.parametrize("cluster", ["c", ODD], ids=["written by the driver", "odd name"])
def test_few_rows_are_written_as_many_are(spark, tmp_path, frame, cluster):
    """The lake's label counts them; a name that reads differently in SQL leaves them to Spark."""
    lake = open_lake(spark, str(tmp_path), cluster)
    other = open_lake(spark, str(tmp_path), "other")
    other.replace("churn", frame("churn", [counted(1, 9, "other")]), few=True)

    with lake.labelled("run-1"):
        rows = frame("churn", [counted(n, 0, cluster) for n in (1, 2, 3)])
        lake.replace("churn", rows, few=True)
    row = frame("churn", [counted(2, 5, cluster)])
    lake.replace("churn", row, where="generation = 2", few=True)
    newer = frame("churn", [counted(n, 7, cluster) for n in (3, 4)])
    lake.upsert("churn", newer, if_="n.partitions_moved > t.partitions_moved", few=True)
    lake.append("churn", frame("churn", [counted(5, 1, cluster)]), few=True)

    moved = [(1, 0), (2, 5), (3, 7), (4, 7), (5, 1)]
    assert pairs(lake.read("churn"), "generation", "partitions_moved") == moved
    assert pairs(other.read("churn"), "generation", "partitions_moved") == [(1, 9)]
    assert lake.rows_written("churn", "run-1") == 3
    assert list(damages(str(tmp_path), "churn")) == []


@pytest.mark.embedded_suffices
def test_tables_of_few_rows_are_known_from_the_delta_log(lake, frame, monkeypatch):
    lake.replace("churn", frame("churn", [counted(n, 0) for n in (1, 2, 3)]))
    trace = {
        "cluster_id": "c",
        "trace_id": "t",
        "position": 0,
        "event": "e",
        "line": "{}",
        "file": "f",
    }
    lake.replace("trace_events", frame("trace_events", [trace]))

    for dates in (None, [date(2026, 11, 21)]):
        few = lake.are_few(["churn", "episodes", "trace_events"], dates)
        assert few is not is_embedded(lake.spark)
    monkeypatch.setattr("jobs.lake.file_statistics.FEW_ROWS", 2)
    assert not lake.are_few(["churn"], None)


def test_a_null_in_a_not_null_column_is_refused(spark, lake, frame):
    valid = frame("churn", [counted(1, 1)])
    broken = valid.selectExpr(
        *(f"IF(false, '', NULL) AS {c}" if c == "group_id" else c for c in valid.columns)
    )

    with refused(lake, "NOT NULL constraint violated for column: group_id"):
        lake.replace("churn", broken)

    assert lake.read("churn").count() == 0


def of_another_version(root, table, *, without=(), **columns):
    """An empty table as another version of Regroup wrote it."""
    written = to_arrow_schema(schema_of(table), timezone="UTC")
    fields = [columns.pop(f.name, f) for f in written if f.name not in without]
    data = pa.schema([*fields, *columns.values()]).empty_table()
    write_deltalake(f"{root}/{table}", data, partition_by=table_partitioning(table))


def test_a_column_that_an_older_table_lacks_is_null_and_is_added(lake, frame):
    of_another_version(lake.root, "churn", without=["moves_forced"])
    assert lake.read("churn").schema.names == schema_of("churn").names

    lake.replace("churn", frame("churn", [{**counted(1, 2), "moves_forced": 1}]))

    assert pairs(lake.read("churn"), "generation", "moves_forced") == [(1, 1)]
    added = DeltaTable(lake.path("churn")).schema().fields[-1]
    assert added.name == "moves_forced"
    assert added.metadata["comment"].startswith("moves that no assignment")


def test_columns_with_old_names_are_read_and_renamed_by_the_next_write(lake, frame):
    """Of all clusters, with comments and NOT NULL."""
    path = lake.path("rebalance_latency")
    fields = json.loads(delta_schema(schema_with_comments("rebalance_latency")).to_json())
    for field in fields["fields"]:
        field["name"] = field["name"].replace("to_time", "end_time")
    schema = Schema.from_json(json.dumps(fields))
    DeltaTable.create(path, schema, partition_by=["cluster_id", "event_date"])
    rows = [
        {"group_id": "g", "generation": 1, "to_time": 1000},
        {"group_id": "g", "generation": 2, "to_time": 2000, "cluster_id": "other"},
        {"group_id": "g", "generation": 3, "to_time": 3000, "event_date": date(2026, 11, 22)},
    ]
    written = frame("rebalance_latency", rows).toArrow()
    names = [name.replace("to_time", "end_time") for name in written.column_names]
    write_deltalake(path, written.rename_columns(names), mode="append")

    seconds = F.unix_seconds("to_time").alias("seconds")
    assert pairs(lake.read("rebalance_latency"), "generation", seconds) == [(1, 1), (3, 3)]
    lake.replace("rebalance_latency", frame("rebalance_latency", []), where="generation = 3")

    stored = DeltaTable(path)
    columns = {field.name: field for field in stored.schema().fields}
    assert list(columns) == schema_of("rebalance_latency").names
    assert columns["to_time"].metadata["comment"].startswith("end of the rebalance")
    assert not columns["group_id"].nullable
    assert stored.metadata().partition_columns == ["cluster_id", "event_date"]
    all_rows = stored.to_pyarrow_table(columns=["cluster_id", "to_time"]).to_pylist()
    assert sorted((row["cluster_id"], row["to_time"].second) for row in all_rows) == [
        ("c", 1), ("other", 2)
    ]  # fmt: skip


@spark_only("Delta's own writes and statements")
def test_spark_renames_columns_and_values_itself(lake, frame):
    """As in a store, or in a folder that others read by a name that delta-rs reads otherwise."""
    own = open_lake(lake.spark, lake.root, ODD)
    assert not own.writes_arrow
    own.append("generation_members", frame("generation_members", [MEMBER | {"cluster_id": ODD}]))
    own.append("rebalance_latency", frame("rebalance_latency", [LATENCY | {"cluster_id": ODD}]))
    members, latency = (own.path(table) for table in ("generation_members", "rebalance_latency"))
    own.spark.sql(f"UPDATE delta.`{members}` SET left_how = 'expired'")
    own.spark.sql(f"ALTER TABLE delta.`{members}` UNSET TBLPROPERTIES ('regroup.values')")
    own._rename_columns("rebalance_latency", {"to_time": "end_time"})

    reader = open_lake(lake.spark, lake.root, ODD)
    assert pairs(reader.read("generation_members"), "left_how") == [("session_expired",)]
    assert pairs(reader.read("rebalance_latency"), F.unix_seconds("to_time")) == [(1,)]
    reader.create("generation_members")
    reader.create("rebalance_latency")

    stored = DeltaTable(members)
    assert PRESENT_VALUES.items() <= stored.metadata().configuration.items()
    assert stored.to_pyarrow_table().column("left_how").to_pylist() == ["session_expired"]
    stored = DeltaTable(latency)
    columns = {field.name: field for field in stored.schema().fields}
    assert list(columns) == schema_of("rebalance_latency").names
    assert columns["to_time"].metadata["comment"].startswith("end of the rebalance")
    assert stored.metadata().partition_columns == ["cluster_id", "event_date"]
    assert pairs(reader.read("rebalance_latency"), F.unix_seconds("to_time")) == [(1,)]


def test_old_values_are_read_as_present_ones_and_renamed_by_the_next_write(lake, frame):
    """In the rows of all clusters."""
    path = lake.path("generation_members")
    of_another_version(lake.root, "generation_members", without=[])
    rows = [
        MEMBER | {"left_how": "expired"},
        MEMBER | {"member_id": "b", "left_how": "left"},
        MEMBER | {"cluster_id": "other", "left_how": "expired"},
        MEMBER | {"generation": 2, "member_id": "d"},
    ]
    write_deltalake(path, frame("generation_members", rows).toArrow(), mode="append")

    members = pairs(lake.read("generation_members"), "member_id", "left_how")
    assert members == [("a", "session_expired"), ("b", "left"), ("d", None)]
    lake.replace("generation_members", frame("generation_members", []), where="generation = 2")

    stored = DeltaTable(path).to_pyarrow_table(columns=["cluster_id", "left_how"]).to_pylist()
    assert sorted(map(tuple, map(dict.values, stored))) == [
        ("c", "left"), ("c", "session_expired"), ("other", "session_expired")
    ]  # fmt: skip
    version = lake.version("generation_members")
    open_lake(lake.spark, lake.root, "c").create("generation_members")
    assert lake.version("generation_members") == version


def test_a_new_table_has_the_present_values(lake):
    lake.create("generation_members")

    properties = DeltaTable(lake.path("generation_members")).metadata().configuration
    assert renamed_values("generation_members", properties) == {}
    assert renamed_values("generation_members", {}) != {}


@pytest.mark.parametrize("engine", ["embedded"], indirect=True, scope="module")
def test_a_read_does_not_ask_the_embedded_engine_for_a_schema(lake, frame, monkeypatch):
    """Each such request plans the whole query."""
    lake.replace("churn", frame("churn", [counted(1, 1)]))
    reader = open_lake(lake.spark, lake.root, "c")
    asked = []
    client = type(lake.spark.client)
    monkeypatch.setattr(client, "_analyze", lambda _, method, **__: asked.append(method))

    assert "members_gone" in reader.read("churn").columns
    assert asked == []


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.field("moves_forced", pa.string()), "moves_forced is string, not int"),
        (pa.field("not_yet", pa.int32()), "not_yet is unknown to this version of Regroup"),
    ],
)
def test_a_table_with_an_unusable_column_is_refused(lake, frame, column, message):
    of_another_version(lake.root, "churn", **{column.name: column})

    with pytest.raises(RunFailed, match=message):
        lake.read("churn")
    with pytest.raises(RunFailed, match=message):
        lake.replace("churn", frame("churn", [counted(1, 1)]))


def test_a_table_that_was_never_written_reads_as_empty(lake):
    empty = lake.read("generations")

    assert (empty.count(), empty.schema.names) == (0, schema_of("generations").names)


def test_replace_with_a_condition_leaves_the_other_rows(lake, frame):
    lake.replace("churn", frame("churn", [counted(1, 1), counted(2, 1)]))

    lake.replace("churn", frame("churn", [counted(2, 9)]), where="generation > 1")

    assert pairs(lake.read("churn"), "generation", "partitions_moved") == [(1, 1), (2, 9)]
    with refused(lake, "generation : 1"):
        lake.replace("churn", frame("churn", [counted(1, 9)]), where="generation > 1")


def test_the_lakes_folder_may_be_relative(spark, frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lake = open_lake(spark, ".hidden/lake", "c")

    lake.replace("generations", frame("generations", [{"group_id": "g", "generation": 1}]))

    assert (tmp_path / ".hidden" / "lake" / "generations" / "_delta_log").is_dir()


@pytest.mark.embedded_suffices
def test_an_altered_byte_of_a_data_file_is_found(lake, frame):
    lake.replace("churn", frame("churn", [counted(1, 1)]))
    lake.upsert("churn", frame("churn", [counted(2, 1)]))
    lake.compact("churn")
    lake.vacuum("churn", 0)
    (file,) = Path(lake.path("churn")).rglob("part-*.parquet")
    written = file.read_bytes()
    assert list(damages(lake.root, "churn")) == []

    for at in range(0, len(written), 100):
        file.write_bytes(written[:at] + bytes([written[at] ^ 1]) + written[at + 1 :])
        assert len(list(damages(lake.root, "churn"))) == 1, at


@pytest.mark.embedded_suffices
def test_vacuum_deletes_the_checksums_of_the_files_that_it_deletes(lake, frame):
    for generation in (1, 2):
        lake.replace("churn", frame("churn", [counted(generation, 1)]))

    assert lake.vacuum("churn", 0) == 1

    (file,) = Path(lake.path("churn")).rglob("part-*.parquet")
    assert [*Path(lake.path("churn")).rglob(".part-*.crc")] == [checksum_file(file)]
