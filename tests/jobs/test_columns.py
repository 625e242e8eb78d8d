"""The columns of schemas/tables: names, types, required or not, comments."""

import pytest

from jobs.lake.tables import schema_with_comments
from schemas import table_columns, table_names
from schemas.columns import columns


def test_plain_columns():
    first, *_, last = columns("topic_partitions")

    assert (first.name, str(first.type), first.required) == ("cluster_id", "STRING", True)
    assert (last.name, str(last.type), last.required) == ("since", "TIMESTAMP", False)
    assert last.comment == "time from which the count holds; null if it holds from the beginning"


def test_nested_columns():
    members = {column.name: column for column in columns("group_metadata")}["members"]
    (struct,) = members.type.of

    assert members.type.name == "ARRAY"
    assert members.comment == "members in the order of the record; null for a tombstone"
    assert [field.name for field in struct.fields][:2] == ["member_id", "instance_id"]
    owned = struct.fields[7]
    assert str(owned.type) == "ARRAY<STRUCT<topic: STRING, partitions: ARRAY<INT>>>"
    assert owned.comment == (
        "partitions that the member owns, by its subscription (version 1 and up)"
    )


def test_maps_and_quotes():
    kept = {column.name: column for column in columns("ingested_files")}["kept_by_date"]
    skipped = {column.name: column for column in columns("ingested_files")}["skipped"]

    assert str(kept.type) == "MAP<DATE, BIGINT>"
    assert "not a coordinator logger's," in skipped.comment


@pytest.mark.parametrize("table", table_names())
def test_columns_are_those_of_the_tables_schema(table):
    parsed = columns(table)

    assert [column.name for column in parsed] == table_columns(table)
    assert [(c.name, c.required, c.comment) for c in parsed] == [
        (field.name, not field.nullable, field.metadata.get("comment"))
        for field in schema_with_comments(table)
    ]
