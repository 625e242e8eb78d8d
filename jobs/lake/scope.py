"""The scope of a run: the rows that its jobs read and write, for all dates or for some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Protocol

from pyspark.sql import DataFrame

from jobs.lake.client_rows import broker_rows, may_exist, where_of_brokers
from jobs.lake.dated_scope import DatedScope
from jobs.lake.keys import BRONZE_EVENTS, EVENT_TABLES
from jobs.lake.shared import SharedFrames
from jobs.lake.tables import Lake


class RunScope(Protocol):
    """The tables as one run reads and writes them.  Jobs take a scope and do not ask for its kind.
    The tables have no rows that only clients' logs show (`jobs.lake.client_rows`).

    A run for some dates reads each group's history from its context generation on (see
    `jobs.lake`); entries in ``group_days`` carry over older facts.
    """

    @property
    def lake(self) -> Lake: ...

    @property
    def first_ms(self) -> int:
        """Midnight before the run's first date, in ms since the epoch."""

    def read(self, table: str) -> DataFrame:
        """The rows of the groups in scope, from their context generation on; all rows of a table
        without dates."""

    def has_rows(self, table: str) -> bool:
        """Returns whether `read` may return a row of a table with dates; False is certain.

        The table's Delta log tells, without a Spark job.
        """

    def shared(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        """The frame that ``make`` returns; a run makes it once, and its jobs share it."""

    def read_days(self, table: str, *, before: int = 0, after: int = 0) -> DataFrame:
        """All rows of the run's dates, and of this many days before and after them."""

    def read_recent(self, table: str) -> DataFrame:
        """All rows of the groups in scope, and of tables without groups, on the dates that `read`
        covers and on the previous day of each.
        """

    def context_positions(self) -> DataFrame | None:
        """The place at which each group's history begins for this run: cluster_id, group_id,
        context_incarnation, context_seq (its first event); None means at the beginning of the
        history.
        """

    def context_rows(self, table: str) -> DataFrame | None:
        """The rows of the groups' context generations, or Returns None if histories are read in
        full.
        """

    def carried(self, column: str) -> DataFrame | None:
        """The entries in this column of ``group_days``, which represent rows that `read` omits.

        There is one row per entry: cluster_id, group_id, context_incarnation and the entry's
        fields.  None if histories are read in full.
        """

    def later_dates(self) -> RunScope | None:
        """The scope of all stored dates after these dates, or None without such dates."""

    def replace(self, table: str, df: DataFrame, *, where: str = "true") -> None:
        """Replace the rows that this run may change and that meet ``where`` by ``df``."""

    def replace_days(self, table: str, df: DataFrame, *, before: int = 0, after: int = 0) -> None:
        """Replace all rows of the run's dates, and of this many days before and after them, by the
        rows of these days in ``df``."""

    def replace_or_upsert(self, table: str, df: DataFrame, *, if_: str) -> None:
        """Write a table without dates: ``df`` replaces it if the run covers all dates, else it is
        merged as by `Lake.upsert`."""

    def update_day_before(self, table: str, df: DataFrame, column: str) -> None:
        """Set ``column`` of the rows of the previous day from ``df``, which has the table's key,
        event_date and the column."""


@dataclass(frozen=True)
class AllDates:
    """A run for all dates: it reads and replaces whole tables."""

    lake: Lake
    first_ms: int = 0
    _shared: SharedFrames = field(default_factory=SharedFrames, compare=False)

    @cached_property
    def _has_clients(self) -> bool:
        return may_exist(self.lake)

    def read(self, table: str) -> DataFrame:
        return broker_rows(self.lake, table, has_clients=self._has_clients)

    def has_rows(self, table: str) -> bool:
        return self.lake.rows_on_dates(table, None) != 0

    def shared(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        return self._shared.get(name, make)

    def read_days(self, table: str, *, before: int = 0, after: int = 0) -> DataFrame:
        return self.lake.read(table)

    def read_recent(self, table: str) -> DataFrame:
        return self.read(table)

    def context_positions(self) -> None:
        return None

    def context_rows(self, table: str) -> None:
        return None

    def carried(self, column: str) -> None:
        return None

    def later_dates(self) -> None:
        return None

    def replace(self, table: str, df: DataFrame, *, where: str = "true") -> None:
        few = self.lake.are_few(EVENT_TABLES, None)
        where = where_of_brokers(table, where, has_clients=self._has_clients)
        self.lake.replace(table, df, where=where, few=few)

    def replace_days(self, table: str, df: DataFrame, *, before: int = 0, after: int = 0) -> None:
        self.lake.replace(table, df, few=self.lake.are_few(BRONZE_EVENTS, None))

    def replace_or_upsert(self, table: str, df: DataFrame, *, if_: str) -> None:
        self.replace(table, df)

    def update_day_before(self, table: str, df: DataFrame, column: str) -> None:
        """Do nothing: the run replaces all dates."""


def scope_of(lake: Lake, first: date | None, last: date | None) -> RunScope:
    """The scope of a run for the dates from ``first`` to ``last``.

    The scope is all dates if none are given, or if the lake has a timeline but no ``group_days``
    (older versions did not write it), because the past of the groups is then unknown.
    """
    if first is None or last is None or (lake.has("timeline") and not lake.has("group_days")):
        return AllDates(lake)
    return DatedScope(lake=lake, first=first, last=last)
