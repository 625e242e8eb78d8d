"""PySpark's types of the columns in schemas/, without a session: `StructType.fromDDL` needs one."""

from __future__ import annotations

from pyspark.sql import types as T

from schemas.columns import Column, Type

_SIMPLE: dict[str, type[T.DataType]] = {
    "BIGINT": T.LongType,
    "BINARY": T.BinaryType,
    "BOOLEAN": T.BooleanType,
    "DATE": T.DateType,
    "DOUBLE": T.DoubleType,
    "INT": T.IntegerType,
    "STRING": T.StringType,
    "TIMESTAMP": T.TimestampType,
}


def struct_type(columns: tuple[Column, ...], *, with_comments: bool = False) -> T.StructType:
    """The columns with NOT NULL; comments are for creating tables, and engines compare them."""
    return T.StructType([_field(column, with_comments) for column in columns])


def _field(column: Column, with_comments: bool) -> T.StructField:
    comment = {"comment": column.comment} if with_comments and column.comment else None
    type_ = _data_type(column.type, with_comments)
    return T.StructField(column.name, type_, not column.required, comment)


def _data_type(type_: Type, with_comments: bool) -> T.DataType:
    of = [_data_type(inner, with_comments) for inner in type_.of]
    if type_.name == "STRUCT":
        return struct_type(type_.fields, with_comments=with_comments)
    if type_.name == "ARRAY":
        return T.ArrayType(of[0])
    return T.MapType(of[0], of[1]) if type_.name == "MAP" else _SIMPLE[type_.name]()
