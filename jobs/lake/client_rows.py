"""Rows that only clients' logs show, in tables whose other rows are from brokers' evidence.

The jobs that derive rows from brokers' evidence neither read nor replace them, so that clients'
logs never change these rows; `jobs.client_evidence` writes them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.lake.tables import Lake

CLIENT_EVENTS = "client_events"
TABLES = (
    *("generations", "generation_members", "assignments", "rebalance_latency"),
    *("rebalance_causes", "episodes"),
)
OF_CLIENTS = "evidence = 'clients'"
# Some tables have no evidence in rows from records.
OF_BROKERS = "(evidence IS NULL OR evidence <> 'clients')"


def no_evidence() -> Column:
    """``evidence`` of a row that records show."""
    return F.lit(None).cast("string").alias("evidence")


def may_exist(lake: Lake) -> bool:
    """The result False is certain, and needs no job of the engine if no client's log was read."""
    return lake.rows_on_dates(CLIENT_EVENTS, None) != 0


def broker_rows(lake: Lake, table: str, *, has_clients: bool) -> DataFrame:
    """The table without rows that only clients' logs show."""
    rows = lake.read(table)
    return rows.where(OF_BROKERS) if has_clients and table in TABLES else rows


def where_of_brokers(table: str, where: str, *, has_clients: bool) -> str:
    return f"({where}) AND {OF_BROKERS}" if has_clients and table in TABLES else where
