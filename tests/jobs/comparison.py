"""Comparison of rows with literal expectations."""

from chispa.rows_comparer import assert_basic_rows_equality
from pyspark.sql import Row


def assert_rows(rows, expected):
    """``expected``: tuples, in order.  A failure shows rows (df1) and expected (df2) by chispa."""
    row_of = Row(*rows[0].__fields__) if rows else Row
    assert_basic_rows_equality(rows, [row_of(*values) for values in expected])
