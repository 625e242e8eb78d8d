"""Translates the views' SQL, Spark's, into Trino's: JSON (name: SQL) in, JSON out.

Needs sqlglot, and nothing of Regroup:

    python tools/sql_engines/translate.py < statements.json > translated.json
"""

from __future__ import annotations

import json
import sys

import sqlglot
from sqlglot import exp

# Functions that Trino lacks, by the lower-case name that sqlglot gives them.
FUNCTIONS = {
    "unixmillis": "CAST(ROUND(TO_UNIXTIME({0}) * 1000) AS BIGINT)",
    "octet_length": "LENGTH({0})",
}
# Exact percentiles, because Trino's own are approximate. {0} are the sorted values, and {1} is the
# position between two of them.
VALUES = "ARRAY_SORT(ARRAY_AGG({0}) FILTER (WHERE {0} IS NOT NULL))"
PLACE = "(CARDINALITY({0}) - 1) * DOUBLE '{1}' + 1"
PERCENTILE = (
    "ELEMENT_AT({0}, CAST(FLOOR({1}) AS BIGINT)) + ({1} - FLOOR({1}))"
    " * (ELEMENT_AT({0}, CAST(CEIL({1}) AS BIGINT)) - ELEMENT_AT({0}, CAST(FLOOR({1}) AS BIGINT)))"
)


def translated(sql: str) -> str:
    tree = sqlglot.parse_one(sql, read="spark").transform(_in_trino)
    # Trino unnests an array of structs into a column per field. Spark and DuckDB unnest it into one
    # column.
    text = sqlglot.parse_one(tree.sql("trino"), read="trino").transform(_one_column)
    return text.sql("trino")


def _in_trino(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.ArrayAgg):
        # The views filter NULL themselves, and sqlglot's own filter is not valid SQL after
        # DISTINCT.
        node.set("nulls_excluded", None)
    if isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.PercentileCont):
        return _percentile(node.expression.expressions[0].this, node.this.this)
    is_unknown = isinstance(node, exp.Anonymous)
    template = FUNCTIONS.get(node.name.lower() if is_unknown else node.key)
    if template is None:
        return node
    argument = node.expressions[0] if is_unknown else node.this
    return sqlglot.parse_one(template.format(argument.sql("trino")), read="trino")


def _percentile(value: exp.Expression, share: exp.Expression) -> exp.Expression:
    values = VALUES.format(value.sql("trino"))
    place = f"({PLACE.format(values, share.sql('trino'))})"
    return sqlglot.parse_one(PERCENTILE.format(values, place), read="trino")


def _one_column(node: exp.Expression) -> exp.Expression:
    if not isinstance(node, exp.Unnest):
        return node
    rows = [
        sqlglot.parse_one(f"TRANSFORM({array.sql('trino')}, item -> ROW(item))", read="trino")
        for array in node.expressions
    ]
    node.set("expressions", rows)
    return node


if __name__ == "__main__":
    json.dump({name: translated(sql) for name, sql in json.load(sys.stdin).items()}, sys.stdout)
