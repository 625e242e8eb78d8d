"""The sources of dbt: every table with its columns, their types and comments."""

import yaml

from schemas import table_columns, table_names
from tools.dbt_sources import sources


def test_every_table_is_a_source_with_its_columns():
    [source] = yaml.safe_load(sources())["sources"]
    tables = {table["name"]: table["columns"] for table in source["tables"]}

    assert list(tables) == table_names()
    assert [
        name for name in tables if [c["name"] for c in tables[name]] != table_columns(name)
    ] == []
    assert tables["quarantine"][0] == {
        "name": "cluster_id",
        "data_type": "STRING",
        "description": "cluster of the input",
        "data_tests": ["not_null"],
    }
    assert source["meta"] == {
        "external_location": 'delta_scan(\'{{ env_var("REGROUP_LAKE", "lake") }}/{name}\')'
    }
