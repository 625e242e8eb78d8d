"""A run for some dates: the groups active on them, and how far into their past the run reads.

A run for the dates D to E covers the groups that have an event on these dates.  The run reads each
group's rows from the group's context generation on, including rows after E, and may change the rows
from the open generation on; older rows are settled.  The newest row of ``group_days`` before D
names both generations (see `jobs.lake`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property, reduce
from threading import RLock

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.engine.keeping import (
    computed,
    computed_in_one_partition,
    in_one_partition,
    keep,
    kept,
    release,
)
from jobs.lake.client_rows import broker_rows, may_exist, where_of_brokers
from jobs.lake.keys import BRONZE_EVENTS, EVENT_TABLES, GROUP_KEY
from jobs.lake.shared import SharedFrames
from jobs.lake.tables import Lake, conform, dates_in, schema_of
from schemas import table_key, table_partitioning

# The event_date of records without a time, which may belong to any part of a group's history.
TIMELESS = date(1970, 1, 1)
# Tables that several jobs of a run read.
CACHED = ("timeline", "generations", "generation_members", "churn")
# Several tasks are faster than one task above this number of rows.
MANY_ROWS = 20_000
_DAY = timedelta(days=1)
DAY_MS = 86_400_000
_POSITIONS = [
    "open_incarnation", "open_generation", "open_seq",
    "context_incarnation", "context_generation", "context_seq", "context_date",
]  # fmt: skip


@dataclass(frozen=True)
class TouchedGroups:
    """The groups with an event on a run's dates, and the rows about them that the run reads.

    ``groups`` has one row per group; the struct ``past`` has the open_* and context_* columns of
    the newest row of group_days before the run's dates (null: read everything), and ``past_date``
    that row's date. ``last_days`` are these rows of group_days. ``dates`` are the dates with rows
    of these groups that the run reads, and its own. ``events`` are the groups' rows of
    EVENT_TABLES; ``is_small`` means that there are at most MANY_ROWS of these groups. ``is_few``
    means that the tables have so few rows on these dates that the driver writes what is derived.
    """

    groups: DataFrame
    dates: frozenset[date]
    last_days: DataFrame
    events: dict[str, DataFrame]
    is_small: bool
    is_few: bool


@dataclass(frozen=True, kw_only=True)
class DatedScope:
    """The scope of a run for the dates from ``first`` to ``last``; methods: see `RunScope`."""

    lake: Lake
    first: date
    last: date
    _cached: dict[str, DataFrame] = field(default_factory=dict, compare=False)
    # Tables that this run wrote, with the settled rows from the context generation on.
    _written: dict[str, DataFrame] = field(default_factory=dict, compare=False)
    _shared: SharedFrames = field(default_factory=SharedFrames, compare=False)
    _lock: RLock = field(default_factory=RLock, compare=False)

    @cached_property
    def _has_clients(self) -> bool:
        return may_exist(self.lake)

    def _stored(self, table: str) -> DataFrame:
        return broker_rows(self.lake, table, has_clients=self._has_clients)

    @property
    def first_ms(self) -> int:
        return (self.first - TIMELESS).days * DAY_MS

    def read(self, table: str) -> DataFrame:
        if "event_date" not in table_partitioning(table):
            return self.lake.read(table)
        if table in EVENT_TABLES:
            return self.touched.events[table]
        with self._lock:
            if table not in self._cached:
                written = self._written.pop(table, None)
                self._cached[table] = self._read(table) if written is None else written
            return self._cached[table]

    def _read(self, table: str) -> DataFrame:
        if not self.has_rows(table):
            return self.lake.frame(table, [])
        return self._cache(table, self._stored_in_context(table))

    def _stored_in_context(self, table: str) -> DataFrame:
        rows = _on_dates(self.touched.dates, self._stored(table))
        joined = self._joined(rows, self.touched.groups, how="inner")
        return joined.where(_is_in_context(rows.columns)).select(*rows.columns)

    def _joined(
        self, rows: DataFrame, groups: DataFrame, how: str, on: list[str] = GROUP_KEY
    ) -> DataFrame:
        """Few rows are joined in one task, without a job for a broadcast."""
        if self.touched.is_small:
            return in_one_partition(rows).join(groups, on=on, how=how)
        return rows.join(F.broadcast(groups), on=on, how=how)

    def _cache(self, table: str, rows: DataFrame) -> DataFrame:
        if self.touched.is_small:
            return computed_in_one_partition(rows)
        return keep(rows) if table in CACHED else rows

    def has_rows(self, table: str) -> bool:
        return self.lake.rows_on_dates(table, self.touched.dates) != 0

    def shared(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        return self._shared.get(name, make)

    def read_days(self, table: str, *, before: int = 0, after: int = 0) -> DataFrame:
        return self.lake.read(table).where(self._dated(before, after))

    def read_recent(self, table: str) -> DataFrame:
        touched = self.touched
        dates = touched.dates | {day - _DAY for day in touched.dates if day > TIMELESS}
        rows = self._stored(table).where(f"event_date IN {dates_in(dates)}")
        if "group_id" not in rows.columns:
            return rows
        return self._joined(rows, touched.groups.select(*GROUP_KEY), how="left_semi")

    def context_positions(self) -> DataFrame:
        return self.touched.groups.select(
            *GROUP_KEY, "past.context_incarnation", "past.context_seq"
        )

    def context_rows(self, table: str) -> DataFrame:
        generations = self.touched.groups.select(
            *GROUP_KEY,
            F.col("past.context_incarnation").alias("incarnation"),
            F.col("past.context_generation").alias("generation"),
        )
        on = [*GROUP_KEY, "incarnation", "generation"]
        return self._joined(self.read(table), generations, how="left_semi", on=on)

    def carried(self, column: str) -> DataFrame:
        entry = F.explode(column).alias("entry")
        entries = self.touched.last_days.select(*GROUP_KEY, "context_incarnation", entry)
        return entries.select(*GROUP_KEY, "context_incarnation", "entry.*")

    def later_dates(self) -> DatedScope | None:
        days = self.lake.read("group_days").where(F.col("event_date") > F.lit(self.last))
        newest = days.agg(F.max("event_date")).collect()[0][0]
        return (
            None
            if newest is None
            else DatedScope(lake=self.lake, first=self.last + _DAY, last=newest)
        )

    def replace(self, table: str, df: DataFrame, *, where: str = "true") -> None:
        """In one transaction, it replaces the rows of the run's dates, and of each other date on
        which an open row differs; the settled rows of these dates stay.
        """
        own, others = self._own_dates(), self.touched.dates - self._own_dates()
        where = where_of_brokers(table, where, has_clients=self._has_clients)
        columns = schema_of(table).names
        stored = _on_dates(others, self._stored(table)).where(where)
        is_read_later = table in CACHED
        rows = self._computed_and_stored(table, df, stored)
        with self._kept(rows, is_used_twice=bool(others) or is_read_later) as both:
            differing = _differing_dates(_on_dates(others, both)) if others else frozenset[date]()
            rows = both.where("is_computed = is_open")
            written = own | differing
            dated = f"event_date IN {dates_in(written)}"
            new = _on_dates(written, rows).select(*columns)
            few = self.touched.is_few
            self.lake.replace(table, new, where=f"{dated} AND ({where})", few=few)
            self._forget(table)
            if self.touched.is_small and is_read_later:
                self._written[table] = rows.where("is_in_context").select(*columns)

    def _computed_and_stored(self, table: str, df: DataFrame, stored: DataFrame) -> DataFrame:
        """Both tables' rows with ``is_computed``, ``is_open`` (of a touched group, and open) and
        ``is_in_context`` (`read` has the row).

        The table's new content is the computed rows that are open, and the stored rows that are not
        open.
        """
        columns = schema_of(table).names
        rows = (
            conform(df, table)
            .withColumn("is_computed", F.lit(True))
            .unionByName(stored.withColumn("is_computed", F.lit(False)))
        )
        is_touched = F.col("touched").isNotNull()
        groups = self.touched.groups.withColumn("touched", F.lit(True))
        return self._joined(rows, groups, how="left").select(
            *columns,
            "is_computed",
            (is_touched & self._is_open(columns)).alias("is_open"),
            (is_touched & _is_in_context(columns)).alias("is_in_context"),
        )

    @contextmanager
    def _kept(self, rows: DataFrame, *, is_used_twice: bool) -> Iterator[DataFrame]:
        """The rows, computed once although used twice."""
        if not is_used_twice:
            yield rows
        elif self.touched.is_small:
            yield computed(rows)
        else:
            with kept(rows) as same:
                yield same

    def _is_open(self, columns: list[str]) -> Column:
        if "open_seq" in columns or "mode" in columns:
            # group_days and assignor_quality: rows of earlier dates are final.
            is_of_run = F.col("event_date") >= F.lit(self.first)
            is_open = is_of_run | F.col("past.open_seq").isNull()
        elif "seq" in columns:
            is_open = F.col("seq") >= F.col("past.open_seq")
        else:
            is_open = _is_at_or_after("open", _generation_in(columns))
        return F.coalesce(is_open, F.lit(True))

    def _forget(self, table: str) -> None:
        with self._lock:
            cached = self._cached.pop(table, None)
        if cached is not None and not self.touched.is_small:
            release(cached)

    def replace_days(self, table: str, df: DataFrame, *, before: int = 0, after: int = 0) -> None:
        where = self._dated(before, after)
        few = self.lake.are_few(BRONZE_EVENTS, self._days(before, after))
        self.lake.replace(table, df.where(where), where=where, few=few)

    def replace_or_upsert(self, table: str, df: DataFrame, *, if_: str) -> None:
        key = [F.col(f"n.{name}").eqNullSafe(F.col(f"t.{name}")) for name in table_key(table)]
        stored = self.lake.read(table).withColumn("is_stored", F.lit(True)).alias("t")
        changed = (
            df.alias("n").join(stored, on=key, how="left").where(f"is_stored IS NULL OR {if_}")
        )
        rows = conform(changed.select("n.*"), table).collect()
        if rows:
            self.lake.upsert(table, self.lake.frame(table, rows), if_=if_, few=True)
        else:
            self.lake.create(table)

    def update_day_before(self, table: str, df: DataFrame, column: str) -> None:
        day_before = self.first - _DAY
        is_of_day = F.col("event_date") == F.lit(day_before)
        key = [*table_key(table), "event_date"]
        stored = self.lake.read(table).where(is_of_day).select(*key, F.col(column).alias("was"))
        changed = (
            df.where(is_of_day)
            .select(*key, column)
            .join(stored, on=key, how="inner")
            .where(f"NOT {column} <=> was")
        )
        if not changed.isEmpty():
            self.lake.update_column(table, changed, column, day=day_before, key=key)

    @cached_property
    def touched(self) -> TouchedGroups:
        """Computed once, when a job first reads or writes; EVENT_TABLES must be written by then."""
        days = self.lake.read("group_days")
        touched = self._touched(days)
        days_of_touched = keep(days.join(F.broadcast(touched), on=GROUP_KEY, how="inner"))
        positions = self._positions(days_of_touched, touched)
        groups = computed_in_one_partition(touched.join(positions, on=GROUP_KEY, how="left"))
        later = F.col("event_date") > F.lit(self.last)
        in_context = F.coalesce(F.col("event_date") >= F.col("past.context_date"), F.lit(True))
        active = days_of_touched.select(*GROUP_KEY, "event_date").join(
            groups, on=GROUP_KEY, how="inner"
        )
        active_dates = _column(active.where(later | in_context).select("event_date"))
        dates = active_dates | self._own_dates()
        position_days = groups.select(*GROUP_KEY, F.col("past_date").alias("event_date"))
        last_days = days_of_touched.select(*days.columns).join(
            F.broadcast(position_days), on=[*GROUP_KEY, "event_date"], how="left_semi"
        )
        result = TouchedGroups(
            groups,
            dates,
            computed_in_one_partition(last_days),
            *self._events(groups, dates),
            self.lake.are_few(EVENT_TABLES, dates),
        )
        release(days_of_touched)
        self.lake.expect_few(result.is_few)
        return result

    def _events(
        self, groups: DataFrame, dates: frozenset[date]
    ) -> tuple[dict[str, DataFrame], bool]:
        """The groups' rows of EVENT_TABLES, and whether they are at most MANY_ROWS."""
        stored = {name: _on_dates(dates, self.lake.read(name)) for name in EVENT_TABLES}
        counts = {name: self.lake.rows_on_dates(name, dates) for name in EVENT_TABLES}
        if None not in counts.values() and sum(filter(None, counts.values())) <= MANY_ROWS:
            few = {name: _in_context(in_one_partition(df), groups) for name, df in stored.items()}
            return {
                name: computed(df) if counts[name] else self.lake.frame(name, [])
                for name, df in few.items()
            }, True
        rows = {name: _in_context(df, F.broadcast(groups)) for name, df in stored.items()}
        few = {
            name: computed_in_one_partition(df.limit(MANY_ROWS + 1)) for name, df in rows.items()
        }
        groups_of_rows = (df.select(*GROUP_KEY) for df in few.values())
        if reduce(DataFrame.unionByName, groups_of_rows).count() <= MANY_ROWS:
            return few, True
        return {name: keep(df) for name, df in rows.items()}, False

    def _touched(self, days: DataFrame) -> DataFrame:
        """One row per group with an event on the run's dates, or on the next day if that day was
        computed already, because its rows depend on commits and transactions of these dates.
        """
        events = [self.lake.read(table).where(self._dated()) for table in EVENT_TABLES]
        after = days.where(F.col("event_date") == F.lit(self.last + _DAY))
        timeless = F.col("event_date") == F.lit(TIMELESS)
        rows = [part.select(*GROUP_KEY, timeless.alias("timeless")) for part in (*events, after)]
        return (
            reduce(DataFrame.unionByName, rows)
            .groupBy(*GROUP_KEY).agg(F.max("timeless").alias("timeless"))
        )  # fmt: skip

    def _positions(self, days: DataFrame, touched: DataFrame) -> DataFrame:
        """``past`` and ``past_date`` of each group; none for a group with records that
        have no time, as these may change all of its history."""
        before = F.col("event_date") < F.lit(self.first)
        last = days.groupBy(*GROUP_KEY).agg(
            F.max_by(F.when(before, F.struct(*_POSITIONS)), F.when(before, F.col("event_date")))
            .alias("past"),
            F.max(F.when(before, F.col("event_date"))).alias("past_date"),
            F.max(F.col("event_date") == F.lit(TIMELESS)).alias("was_timeless"),
        )  # fmt: skip
        return (
            last.where("NOT was_timeless")
            .select(*GROUP_KEY, "past_date", "past")
            .join(touched.where("timeless"), on=GROUP_KEY, how="left_anti")
        )

    def _own_dates(self) -> frozenset[date]:
        return self._days(0, 0)

    def _days(self, before: int, after: int) -> frozenset[date]:
        days = (self.last - self.first).days + after
        return frozenset(self.first + by * _DAY for by in range(-before, days + 1)) | {TIMELESS}

    def _dated(self, before: int = 0, after: int = 0) -> str:
        first, last = self.first - before * _DAY, self.last + after * _DAY
        # Delta's replaceWhere does not support BETWEEN.
        within = f"event_date >= DATE'{first}' AND event_date <= DATE'{last}'"
        return f"({within}) OR event_date = DATE'{TIMELESS}'"


def _is_in_context(columns: Sequence[str]) -> Column:
    if "incarnation" not in columns:
        return F.lit(True)
    return F.coalesce(_is_at_or_after("context", _generation_in(columns)), F.lit(True))


def _generation_in(columns: Sequence[str]) -> str:
    """The column with the generation that decides whether a row is open."""
    named = ("current_generation", "activity_last_generation", "generation")
    return next(name for name in named if name in columns)


def _is_at_or_after(position: str, generation: str) -> Column:
    """Returns whether a row is of the generation at this position ("open" or "context") or a later
    one.
    """
    incarnation = F.col(f"past.{position}_incarnation")
    in_incarnation = (F.col("incarnation") == incarnation) & (
        F.col(generation) >= F.col(f"past.{position}_generation")
    )
    return (F.col("incarnation") > incarnation) | in_incarnation


def _on_dates(dates: frozenset[date], rows: DataFrame) -> DataFrame:
    return rows.where(f"event_date IN {dates_in(dates)}" if dates else "false")


def _in_context(rows: DataFrame, groups: DataFrame) -> DataFrame:
    """The rows of these groups, from their context generation on."""
    of_groups = rows.join(groups, on=GROUP_KEY, how="inner")
    return of_groups.where(_is_in_context(rows.columns)).select(*rows.columns)


def _differing_dates(rows: DataFrame) -> frozenset[date]:
    """The dates on which the computed open rows differ from the stored open rows."""
    content = [name for name in rows.columns if name not in ("is_computed", "is_open")]
    sign = F.when(F.col("is_computed"), 1).otherwise(-1)
    counted = (
        rows.where("is_open")
        .groupBy("event_date", F.xxhash64(*content).alias("content"))
        .agg(F.sum(sign).alias("surplus"))
    )
    return _column(counted.where("surplus <> 0").select("event_date"))


def _column(rows: DataFrame) -> frozenset[date]:
    return frozenset(row[0] for row in rows.distinct().collect())
