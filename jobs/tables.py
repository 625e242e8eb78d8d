"""Reading and writing Delta tables: the only place that knows paths and write modes."""

from __future__ import annotations

import os
from dataclasses import dataclass

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from schemas import table_ddl, table_key, table_partitioning


@dataclass(frozen=True)
class Lake:
    """The tables under one folder, seen by one cluster's run.

    Every table begins with ``cluster_id``; a run reads and replaces its own cluster's rows only.
    """

    spark: SparkSession
    root: str
    cluster_id: str

    def path(self, table: str) -> str:
        """Where the table lies; a local one from the file system's root, as Delta wants it."""
        root = self.root if "://" in self.root else os.path.abspath(self.root)
        return f"{root.rstrip('/')}/{table}"

    def read(self, table: str) -> DataFrame:
        """This cluster's rows; an empty frame of the table's schema where nothing was written."""
        if not DeltaTable.isDeltaTable(self.spark, self.path(table)):
            return self.spark.createDataFrame([], schema_of(table))
        rows = self.spark.read.format("delta").load(self.path(table))
        return rows.where(F.col("cluster_id") == self.cluster_id)

    def insert_new(self, table: str, df: DataFrame) -> None:
        """Add the rows whose key is not there yet: read twice, written once."""
        if not DeltaTable.isDeltaTable(self.spark, self.path(table)):
            self._create(table)
            conform(df, table).write.format("delta").mode("append").save(self.path(table))
        elif not df.isEmpty():  # a merge of nothing costs as much as one of something
            self._merge(table, df).whenNotMatchedInsertAll().execute()

    def upsert(self, table: str, df: DataFrame, *, if_: str | None = None) -> None:
        """Add new keys, overwrite known ones (``t`` is the old row, ``n`` the new one)."""
        self._merge(table, df).whenMatchedUpdateAll(if_).whenNotMatchedInsertAll().execute()

    def replace(self, table: str, df: DataFrame, *, where: str = "true") -> None:
        """Put ``df`` in the place of this cluster's rows ``where`` that holds, in one transaction.

        AnalysisException if a row of ``df`` is not one of those.
        """
        self._create(table)
        (
            conform(df, table)
            .write.format("delta")
            .mode("overwrite")
            .option("replaceWhere", f"cluster_id = {_literal(self.cluster_id)} AND ({where})")
            .save(self.path(table))
        )

    def _merge(self, table: str, df: DataFrame):  # type: ignore[no-untyped-def]
        target = self._create(table)
        same_key = [f"t.{column} <=> n.{column}" for column in table_key(table)]
        # The target's own cluster only: lets Delta skip the other partitions.
        own = f"t.cluster_id = {_literal(self.cluster_id)}"
        return target.alias("t").merge(
            conform(df, table).alias("n"), " AND ".join([own, *same_key])
        )

    def _create(self, table: str) -> DeltaTable:
        path = self.path(table)
        if DeltaTable.isDeltaTable(self.spark, path):
            return DeltaTable.forPath(self.spark, path)
        builder = DeltaTable.createIfNotExists(self.spark).location(path)
        return (
            builder.addColumns(schema_of(table)).partitionedBy(*table_partitioning(table)).execute()
        )


def schema_of(table: str) -> StructType:
    return StructType.fromDDL(table_ddl(table))


def conform(df: DataFrame, table: str) -> DataFrame:
    """The table's columns, in its order and of its types; anything else fails here.

    Nullability is left to Delta, which checks NOT NULL against the rows it writes;
    Spark would judge by the plan, where every ``lag`` and every outer join looks nullable.
    """
    schema = StructType([StructField(f.name, f.dataType) for f in schema_of(table)])
    return df.select(*schema.names).to(schema)  # `to` alone would fill a missing column with nulls


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
