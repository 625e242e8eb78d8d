"""A run for some dates: which groups they touch, and how much of the past bears on these.

A run for dates D to E reads, of the groups that gave a sign on these dates, what they left from
the generation before the last one recorded before D on (group_days says which that is), and all
that came after E, if it is there already.  It writes what can have changed: from the last
generation recorded before D on.  Everything older is settled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from threading import RLock

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.tables import Lake, conform, dates_in, schema_of
from schemas import table_key, table_partitioning

GROUP = ["cluster_id", "group_id"]
# Where records without a time are filed; they may belong anywhere in a group's history.
TIMELESS = date(1970, 1, 1)
SILVER = ("group_metadata", "group_events")
# Read by several jobs of a run.
KEPT = ("timeline", "generations", "generation_members", "churn")
_DAY = timedelta(days=1)


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
    ``dates``: on which the groups left anything to look at.
    """

    groups: DataFrame
    dates: frozenset[date]
    known: DataFrame


@dataclass(frozen=True)
class Span(Lake):
    """A lake as a run for the dates from ``first`` to ``last`` sees and writes it."""

    first: date
    last: date
    _kept: dict[str, DataFrame] = field(default_factory=dict, compare=False)
    _lock: RLock = field(default_factory=RLock, compare=False)

    def read_days(self, table: str, *, before: int = 0, after: int = 0) -> DataFrame:
        return super().read(table).where(self._dated(before, after))

    def replace_days(self, table: str, df: DataFrame, *, after: int = 0) -> None:
        where = self._dated(0, after)
        super().replace(table, df.where(where), where=where)

    def add_to(self, table: str, df: DataFrame, *, if_: str) -> None:
        self.upsert(table, df, if_=if_)

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
        if table not in KEPT:
            return self._of_scope(table)
        with self._lock:
            if table not in self._kept:
                self._kept[table] = self._of_scope(table).persist(StorageLevel.MEMORY_AND_DISK)
            return self._kept[table]

    def _of_scope(self, table: str) -> DataFrame:
        rows = super().read(table)
        of_dates = rows.where(f"event_date IN {dates_in(self.scope.dates)}")
        seen = of_dates.join(F.broadcast(self.scope.groups), on=GROUP, how="inner")
        return seen.where(_from_context(rows.columns)).select(*rows.columns)

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

    def carried(self, column: str) -> DataFrame:
        entry = F.explode(column).alias("entry")
        entries = self.scope.known.select(*GROUP, "context_incarnation", entry)
        return entries.select(*GROUP, "context_incarnation", "entry.*")

    def replace(self, table: str, df: DataFrame, *, where: str = "true") -> None:
        """The rows of the dates asked for at once, then one by one those of other dates that came
        out differently.  What a kill leaves undone in between, the run done again does."""
        made = self._open(conform(df, table)).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            asked_for = self._dated()
            super().replace(table, made.where(asked_for), where=f"({asked_for}) AND ({where})")
            others = self.scope.dates - self._own_dates()
            self._forget(table)
            if others:
                on_others = f"event_date IN {dates_in(others)}"
                stored = super().read(table).where(on_others).where(where)
                self._change(table, self._open(stored), made.where(on_others))
        finally:
            made.unpersist()

    def _forget(self, table: str) -> None:
        with self._lock:
            kept = self._kept.pop(table, None)
        if kept is not None:
            kept.unpersist()

    @cached_property
    def scope(self) -> Scope:
        """Found once, when the tables that tell of groups are written."""
        days = super().read("group_days")
        touched = self._touched(days)
        of_touched = days.join(F.broadcast(touched), on=GROUP, how="inner")
        positions = of_touched.select(
            *GROUP, "event_date", F.struct(*_POSITIONS).alias("position")
        ).persist(StorageLevel.MEMORY_AND_DISK)
        settled = self._settled(positions, touched)
        # Without its history: every plan that reads anything holds this one.
        groups = touched.join(settled, on=GROUP, how="left").localCheckpoint()
        later = F.col("event_date") > F.lit(self.last)
        in_context = F.coalesce(F.col("event_date") >= F.col("its.context_date"), F.lit(True))
        dates = positions.join(groups, on=GROUP, how="inner").where(later | in_context)
        found = _column(dates.select("event_date")) | self._own_dates()
        known_on = _column(groups.where("known_on IS NOT NULL").select("known_on"))
        own = groups.select(*GROUP, F.col("known_on").alias("event_date"))
        known = (
            days.where(f"event_date IN {dates_in(known_on | {TIMELESS})}")
            .join(F.broadcast(own), on=[*GROUP, "event_date"], how="left_semi")
            .localCheckpoint()
        )
        positions.unpersist()
        return Scope(groups, found, known)

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

    def _settled(self, known: DataFrame, touched: DataFrame) -> DataFrame:
        """Of a group with records that have no time, nothing is known for good."""
        before = F.col("event_date") < F.lit(self.first)
        last = known.groupBy(*GROUP).agg(
            F.max_by(F.when(before, F.col("position")), F.when(before, F.col("event_date")))
            .alias("position"),
            F.max(F.when(before, F.col("event_date"))).alias("known_on"),
            F.max(F.col("event_date") == F.lit(TIMELESS)).alias("was_timeless"),
        )  # fmt: skip
        return (
            last.where("NOT was_timeless")
            .select(*GROUP, "known_on", F.col("position").alias("its"))
            .join(touched.where("timeless"), on=GROUP, how="left_anti")
        )

    def _open(self, rows: DataFrame) -> DataFrame:
        """Those of the groups touched that this run may change."""
        of_groups = rows.join(F.broadcast(self.scope.groups), on=GROUP, how="inner")
        return of_groups.where(self._may_change(rows.columns)).select(*rows.columns)

    def _may_change(self, columns: list[str]) -> Column:
        if "open_seq" in columns or "mode" in columns:  # once told, a date's figures stay
            change = (F.col("event_date") >= F.lit(self.first)) | F.col("its.open_seq").isNull()
        elif "seq" in columns:
            change = F.col("seq") >= F.col("its.open_seq")
        else:
            change = _from("generation", "open")
        return F.coalesce(change, F.lit(True))

    def _change(self, table: str, stored: DataFrame, made: DataFrame) -> None:
        key = [*table_key(table), *({"event_date"} - set(table_key(table)))]
        columns = schema_of(table).names
        content = F.xxhash64(*columns)
        old = stored.select(*key, content.alias("stored_hash"))
        new = made.withColumn("made_hash", content)
        changed = new.join(old, on=key, how="full").where("NOT made_hash <=> stored_hash").persist()
        try:
            dates = _column(changed.select("event_date"))
            if dates:
                row = {name: f"n.{name}" for name in columns}
                self._execute(
                    table,
                    changed,
                    lambda merge: (
                        merge.whenMatchedDelete("n.made_hash IS NULL")
                        .whenMatchedUpdate(set=row)
                        .whenNotMatchedInsert(values=row)
                    ),
                    sorted(dates),
                    key,
                )
        finally:
            changed.unpersist()

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


def _column(rows: DataFrame) -> frozenset[date]:
    return frozenset(row[0] for row in rows.distinct().collect())
