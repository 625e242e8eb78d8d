"""A run for some dates: which groups they touch, and how much of the past bears on these.

A run for dates D to E reads, of the groups that gave a sign on these dates, what they left from
the generation before the last one recorded before D on (group_days says which that is), and all
that came after E, if it is there already.  It writes what can have changed: from the last
generation recorded before D on.  Everything older is settled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from threading import RLock

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.lake.tables import Lake, conform, dates_in
from schemas import table_key, table_partitioning

GROUP = ["cluster_id", "group_id"]
# Where records without a time are filed; they may belong anywhere in a group's history.
TIMELESS = date(1970, 1, 1)
SILVER = ("group_metadata", "group_events")
# Read by several jobs of a run.
KEPT = ("timeline", "generations", "generation_members", "churn")
# Beyond so many signs several tasks are done with them sooner than one.
MANY = 20_000
_DAY = timedelta(days=1)
DAY_MS = 86_400_000


def of_dates(lake: Lake, first: date | None, last: date | None) -> Lake:
    """The lake as a run for these dates sees it; as it is without dates, or where what later runs
    need to know of a group's history was never written.
    """
    if first is None or last is None or (lake.has("timeline") and not lake.has("group_days")):
        return lake
    return Span(lake.spark, lake.root, lake.cluster_id, first, last)


@dataclass(frozen=True)
class Scope:
    """``groups``: the groups touched; ``its``: the open_* and context_* of each (null: everything),
    and ``known_on``, the date of the row of group_days that says so.  ``known``: those rows.
    ``dates``: on which the groups left anything to look at.  ``silver``: what that is, and whether
    these are so few rows that one task is done with them sooner than several.
    """

    groups: DataFrame
    dates: frozenset[date]
    known: DataFrame
    silver: dict[str, DataFrame]
    are_few: bool


@dataclass(frozen=True)
class Span(Lake):
    """A lake as a run for the dates from ``first`` to ``last`` sees and writes it."""

    first: date
    last: date
    _kept: dict[str, DataFrame] = field(default_factory=dict, compare=False)
    # What was just written, for whoever reads it: settled rows that it rests on included.
    _written: dict[str, DataFrame] = field(default_factory=dict, compare=False)
    _lock: RLock = field(default_factory=RLock, compare=False)

    def read_days(self, table: str, *, before: int = 0, after: int = 0) -> DataFrame:
        return super().read(table).where(self._dated(before, after))

    def replace_days(self, table: str, df: DataFrame, *, after: int = 0) -> None:
        where = self._dated(0, after)
        super().replace(table, df.where(where), where=where)

    def add_to(self, table: str, df: DataFrame, *, if_: str) -> None:
        key = [F.col(f"n.{name}").eqNullSafe(F.col(f"t.{name}")) for name in table_key(table)]
        stored = super().read(table).withColumn("is_known", F.lit(True)).alias("t")
        news = df.alias("n").join(stored, on=key, how="left").where(f"is_known IS NULL OR {if_}")
        self.upsert(table, _few(news.select("n.*")), if_=if_)

    def update_before(self, table: str, df: DataFrame, column: str) -> None:
        day_before = F.col("event_date") == F.lit(self.first - _DAY)
        key = [*table_key(table), "event_date"]
        stored = super().read(table).where(day_before).select(*key, F.col(column).alias("was"))
        changed = (
            df.where(day_before)
            .select(*key, column)
            .join(stored, on=key, how="inner")
            .where(f"NOT {column} <=> was")
        )
        if not changed.isEmpty():
            self._execute(
                table,
                changed,
                lambda merge: merge.whenMatchedUpdate(set={column: f"n.{column}"}),
                [self.first - _DAY],
                key,
            )

    def read(self, table: str) -> DataFrame:
        """Of the groups touched, what they left from their context generation on."""
        if "event_date" not in table_partitioning(table):
            return super().read(table)
        if table in SILVER:
            return self.scope.silver[table]
        with self._lock:
            if table not in self._kept:
                written = self._written.pop(table, None)
                rows = self._of_scope(table) if written is None else written
                self._kept[table] = self._keep(table, rows)
            return self._kept[table]

    def _of_scope(self, table: str) -> DataFrame:
        return _in_context(_on(self.scope.dates, super().read(table)), self.scope.groups)

    def _keep(self, table: str, rows: DataFrame) -> DataFrame:
        if self.scope.are_few:
            return _few(rows)
        return rows.persist(StorageLevel.MEMORY_AND_DISK) if table in KEPT else rows

    def read_recent(self, table: str) -> DataFrame:
        dates = self.scope.dates | {day - _DAY for day in self.scope.dates if day > TIMELESS}
        rows = super().read(table).where(f"event_date IN {dates_in(dates)}")
        return rows.join(F.broadcast(self.scope.groups.select(*GROUP)), on=GROUP, how="left_semi")

    def start(self) -> DataFrame:
        return self.scope.groups.select(*GROUP, "its.context_incarnation", "its.context_seq")

    def start_rows(self, table: str) -> DataFrame:
        start = self.scope.groups.select(
            *GROUP,
            F.col("its.context_incarnation").alias("incarnation"),
            F.col("its.context_generation").alias("generation"),
        )
        return self.read(table).join(
            F.broadcast(start), on=[*GROUP, "incarnation", "generation"], how="left_semi"
        )

    def later(self) -> Span | None:
        days = super().read("group_days").where(F.col("event_date") > F.lit(self.last))
        newest = days.agg(F.max("event_date")).collect()[0][0]
        if newest is None:
            return None
        return Span(self.spark, self.root, self.cluster_id, self.last + _DAY, newest)

    @property
    def begins_ms(self) -> int:
        return (self.first - TIMELESS).days * DAY_MS

    def carried(self, column: str) -> DataFrame:
        entry = F.explode(column).alias("entry")
        entries = self.scope.known.select(*GROUP, "context_incarnation", entry)
        return entries.select(*GROUP, "context_incarnation", "entry.*")

    def replace(self, table: str, df: DataFrame, *, where: str = "true") -> None:
        """In one transaction the rows of the dates asked for, and those of other dates on which
        any came out differently, beside what is settled there."""
        own, others = self._own_dates(), self.scope.dates - self._own_dates()
        stored = _on(others, super().read(table)).where(where)
        with self._open_and_settled(conform(df, table), stored) as both:
            columns = stored.columns
            differing = _differing_dates(_on(others, both)) if others else frozenset[date]()
            rows = both.where("is_made = is_open").select(*columns)
            written = own | differing
            dated = f"event_date IN {dates_in(written)}"
            super().replace(table, _on(written, rows), where=f"{dated} AND ({where})")
            self._forget(table)
            if self.scope.are_few and where == "true":
                self._written[table] = _in_context(rows, self.scope.groups)

    @contextmanager
    def _open_and_settled(self, made: DataFrame, stored: DataFrame) -> Iterator[DataFrame]:
        """Rows with ``is_made`` and ``is_open``: of a group touched, and something that this run
        may change.  What counts of those made is open, of those stored what is not."""
        are_few = self.scope.are_few
        new = (_few(made) if are_few else made).withColumn("is_made", F.lit(True))
        rows = new.unionByName(stored.withColumn("is_made", F.lit(False)))
        groups = self.scope.groups.withColumn("touched", F.lit(True))
        is_open = F.col("touched").isNotNull() & self._may_change(made.columns)
        both = rows.join(F.broadcast(groups), on=GROUP, how="left").select(
            *rows.columns, is_open.alias("is_open")
        )
        if are_few:
            yield _few(both)
            return
        both.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield both
        finally:
            both.unpersist()

    def _forget(self, table: str) -> None:
        with self._lock:
            kept = self._kept.pop(table, None)
        if kept is not None and not self.scope.are_few:
            kept.unpersist()

    @cached_property
    def scope(self) -> Scope:
        """Found once, when the tables that tell of groups are written."""
        days = super().read("group_days")
        touched = self._touched(days)
        of_touched = days.join(F.broadcast(touched), on=GROUP, how="inner").persist(
            StorageLevel.MEMORY_AND_DISK
        )
        its = self._settled_before(of_touched, touched)
        groups = _few(touched.join(its, on=GROUP, how="left"))
        later = F.col("event_date") > F.lit(self.last)
        in_context = F.coalesce(F.col("event_date") >= F.col("its.context_date"), F.lit(True))
        dates = of_touched.select(*GROUP, "event_date").join(groups, on=GROUP, how="inner")
        found = _column(dates.where(later | in_context).select("event_date")) | self._own_dates()
        own = groups.select(*GROUP, F.col("known_on").alias("event_date"))
        known = of_touched.select(*days.columns).join(
            F.broadcast(own), on=[*GROUP, "event_date"], how="left_semi"
        )
        scope = Scope(groups, found, _few(known), *self._silver(groups, found))
        of_touched.unpersist()
        return scope

    def _silver(
        self, groups: DataFrame, dates: frozenset[date]
    ) -> tuple[dict[str, DataFrame], bool]:
        """The rows from which all others are made, and whether they are few."""
        rows = {
            name: _in_context(_on(dates, super(Span, self).read(name)), groups).persist(
                StorageLevel.MEMORY_AND_DISK
            )
            for name in SILVER
        }
        if sum(df.count() for df in rows.values()) > MANY:
            return rows, False
        few = {name: _few(df) for name, df in rows.items()}
        for df in rows.values():
            df.unpersist()
        return few, True

    def _touched(self, days: DataFrame) -> DataFrame:
        """Groups with a sign on the dates.  If the day after is there already, all of that day:
        what commits and transactions of these dates say reaches into it."""
        told = [super(Span, self).read(table).where(self._dated()) for table in SILVER]
        after = days.where(F.col("event_date") == F.lit(self.last + _DAY))
        timeless = F.col("event_date") == F.lit(TIMELESS)
        rows = [part.select(*GROUP, timeless.alias("timeless")) for part in (*told, after)]
        return (
            rows[0].unionByName(rows[1]).unionByName(rows[2])
            .groupBy(*GROUP).agg(F.max("timeless").alias("timeless"))
        )  # fmt: skip

    def _settled_before(self, days: DataFrame, touched: DataFrame) -> DataFrame:
        """Of a group with records that have no time, nothing is known for good."""
        before = F.col("event_date") < F.lit(self.first)
        last = days.groupBy(*GROUP).agg(
            F.max_by(F.when(before, F.struct(*_POSITIONS)), F.when(before, F.col("event_date")))
            .alias("its"),
            F.max(F.when(before, F.col("event_date"))).alias("known_on"),
            F.max(F.col("event_date") == F.lit(TIMELESS)).alias("was_timeless"),
        )  # fmt: skip
        return (
            last.where("NOT was_timeless")
            .select(*GROUP, "known_on", "its")
            .join(touched.where("timeless"), on=GROUP, how="left_anti")
        )

    def _may_change(self, columns: list[str]) -> Column:
        if "open_seq" in columns or "mode" in columns:  # once told, a date's figures stay
            change = (F.col("event_date") >= F.lit(self.first)) | F.col("its.open_seq").isNull()
        elif "seq" in columns:
            change = F.col("seq") >= F.col("its.open_seq")
        else:
            change = _from("generation", "open")
        return F.coalesce(change, F.lit(True))

    def _own_dates(self) -> frozenset[date]:
        days = (self.last - self.first).days
        return frozenset(self.first + by * _DAY for by in range(days + 1)) | {TIMELESS}

    def _dated(self, before: int = 0, after: int = 0) -> str:
        first, last = self.first - before * _DAY, self.last + after * _DAY
        # Delta's replaceWhere knows no BETWEEN.
        within = f"event_date >= DATE'{first}' AND event_date <= DATE'{last}'"
        return f"({within}) OR event_date = DATE'{TIMELESS}'"


_POSITIONS = [
    "open_incarnation", "open_generation", "open_seq",
    "context_incarnation", "context_generation", "context_seq", "context_date",
]  # fmt: skip


def _from_context(columns: Iterable[str]) -> Column:
    if "incarnation" not in columns:
        return F.lit(True)
    generation = "current_generation" if "current_generation" in columns else "generation"
    return F.coalesce(_from(generation, "context"), F.lit(True))


def _from(generation: str, place: str) -> Column:
    life, number = F.col(f"its.{place}_incarnation"), F.col(f"its.{place}_generation")
    same_life = (F.col("incarnation") == life) & (F.col(generation) >= number)
    return (F.col("incarnation") > life) | same_life


def _on(dates: frozenset[date], rows: DataFrame) -> DataFrame:
    return rows.where(f"event_date IN {dates_in(dates)}" if dates else "false")


def _in_context(rows: DataFrame, groups: DataFrame) -> DataFrame:
    """Those of the groups, from their context generation on."""
    of_groups = rows.join(F.broadcast(groups), on=GROUP, how="inner")
    return of_groups.where(_from_context(rows.columns)).select(*rows.columns)


def _few(rows: DataFrame) -> DataFrame:
    """Worked out, in one partition: what is made of such rows is one task without exchanges, and
    plans have nothing of where they came from."""
    return rows.coalesce(1).localCheckpoint()


def _differing_dates(rows: DataFrame) -> frozenset[date]:
    """On which what was made is not what is stored, as far as that is open."""
    content = [name for name in rows.columns if name not in ("is_made", "is_open")]
    sign = F.when(F.col("is_made"), 1).otherwise(-1)
    counted = (
        rows.where("is_open")
        .groupBy("event_date", F.xxhash64(*content).alias("content"))
        .agg(F.sum(sign).alias("more"))
    )
    return _column(counted.where("more <> 0").select("event_date"))


def _column(rows: DataFrame) -> frozenset[date]:
    return frozenset(row[0] for row in rows.distinct().collect())
