"""What a later date's run needs to know of a group's history, without reading it again.

reads   timeline, generations, generation_members, assignments
writes  group_days   one row per group and date on which it gave an event
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.assignments import ACTUAL
from jobs.command_line.arguments import main
from jobs.generation_members import together
from jobs.lake.tables import Lake
from jobs.rebalance_causes import HEARD_AGAIN_MS, REMEMBERED_DAYS
from jobs.timeline import GENERATION, GROUP, LIFE, PER_MS, RECORDS

READS = ("timeline", "generations", "generation_members", "assignments")

DAY_MS = 86_400_000
# Until so long after it something may still change: a restart shows within a minute, a process
# that was replaced and lives within HEARD_AGAIN_MS.
UNSETTLED_MS = HEARD_AGAIN_MS
DAY = [*GROUP, "event_date"]
PLACE = ["incarnation", "generation", "seq"]
CARRIED = ["unowned_partitions", "shared_clients", "gone_processes"]


def group_days(
    timeline: DataFrame,
    generations: DataFrame,
    generation_members: DataFrame,
    assignments: DataFrame,
    carried: dict[str, DataFrame] | None = None,
) -> DataFrame:
    """``carried``: the lists of the row before, by column, as `Lake.carried` gives them."""
    # Small, and in every branch of what follows: without their history, or plans grow large.
    days = _with_places(_dates(timeline), _told(timeline)).localCheckpoint()
    recorded = _recorded(generations)
    contexts = _contexts(days, recorded).localCheckpoint()
    lists = {
        "unowned_partitions": _unowned(contexts, recorded, assignments, carried),
        "shared_clients": _shared_clients(contexts, generation_members, carried),
        "gone_processes": _gone_processes(contexts, recorded, generation_members, carried),
    }
    for name in CARRIED:
        days = days.join(lists[name], on=DAY, how="left")
    return _dated(days, generations).select(
        *DAY,
        *(F.col(f"open.{name}").alias(f"open_{name}") for name in PLACE),
        *(F.col(f"context.{name}").alias(f"context_{name}") for name in PLACE),
        "context_date",
        *(F.coalesce(name, F.array()).alias(name) for name in CARRIED),
    )


def _told(timeline: DataFrame) -> DataFrame:
    """Generations in the order in which they came, by records or by lines alone; each with the one
    ``before``: the last recorded one, else the last told of.
    """
    is_record = F.col("event").isin(*RECORDS)
    found = (
        timeline.where("event_generation > 0 AND event <> 'REBALANCE_START'")
        .groupBy(*LIFE, F.col("event_generation").alias("generation"))
        .agg(
            F.min("seq").alias("seq"),
            F.min(F.when(is_record, F.col("seq"))).alias("record_seq"),
        )
    )
    history = Window.partitionBy(*GROUP).orderBy("seq")
    earlier = history.rowsBetween(Window.unboundedPreceding, -1)
    place = F.struct(*PLACE)
    recorded = F.when(F.col("record_seq").isNotNull(), place)
    last_recorded = F.last(recorded, ignorenulls=True).over(earlier)
    return found.withColumn("before", F.coalesce(last_recorded, F.lag(place).over(history)))


def _dates(timeline: DataFrame) -> DataFrame:
    """A row per group and date, with the ``at`` before which its history is settled."""
    end_ms = (F.unix_date("event_date").cast("long") + 1) * DAY_MS
    return timeline.select(*DAY).distinct().withColumn("at", (end_ms - UNSETTLED_MS) * PER_MS)


def _with_places(dates: DataFrame, told: DataFrame) -> DataFrame:
    """``open``: the last generation recorded by then, else told of; ``context``: the one before."""
    marks = (
        dates.unionByName(_at(told.where("record_seq IS NOT NULL"), "record_seq", "recorded"), True)
        .unionByName(_at(told, "seq", "told"), True)
    )  # fmt: skip
    so_far = (
        Window.partitionBy(*GROUP)
        .orderBy("at", "event_date")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    last = [F.last(name, ignorenulls=True).over(so_far) for name in ("recorded", "told")]
    placed = marks.withColumn("open", F.coalesce(*last)).where("event_date IS NOT NULL")
    return placed.select(*DAY, "open", F.col("open.before").alias("context"))


def _at(told: DataFrame, at: str, name: str) -> DataFrame:
    return told.select(*GROUP, F.col(at).alias("at"), F.struct(*PLACE, "before").alias(name))


def _dated(days: DataFrame, generations: DataFrame) -> DataFrame:
    """A generation's rows begin on the date on which it was prepared."""
    dates = generations.select(
        *GROUP,
        F.struct("incarnation", "generation").alias("place"),
        F.col("event_date").alias("context_date"),
    )
    place = F.when(
        F.col("context").isNotNull(), F.struct("context.incarnation", "context.generation")
    )
    return days.withColumn("place", place).join(dates, on=[*GROUP, "place"], how="left")


def _recorded(generations: DataFrame) -> DataFrame:
    """Generations with records, numbered; their date (``began``) and the next one's (``until``)."""
    history = Window.partitionBy(*GROUP).orderBy("incarnation", "generation")
    return generations.where("evidence <> 'log'").select(
        *GENERATION,
        F.row_number().over(history).alias("record_no"),
        F.col("event_date").alias("began"),
        F.lead("event_date").over(history).alias("until"),
    )


def _contexts(days: DataFrame, recorded: DataFrame) -> DataFrame:
    """The days that have a recorded one: DAY, its life and generation and number."""
    placed = days.where("context IS NOT NULL").select(
        *DAY, "context.incarnation", "context.generation"
    )
    return placed.join(recorded.drop("until"), on=GENERATION, how="inner").withColumnsRenamed(
        {"record_no": "context_no", "generation": "context_generation"}
    )


def _unowned(
    contexts: DataFrame,
    recorded: DataFrame,
    assignments: DataFrame,
    carried: dict[str, DataFrame] | None,
) -> DataFrame:
    actual = assignments.where(F.col("assignor") == ACTUAL)
    partition = [*LIFE, "topic", "partition"]
    owned = actual.join(recorded, on=GENERATION, how="inner").select(
        *partition, "process", "member_id", "record_no"
    )
    if carried:
        before = _of_life(carried["unowned_partitions"]).withColumn("record_no", F.lit(0))
        owned = owned.unionByName(before)
    entry = F.struct("topic", "partition", "process", "member_id")
    gone = _absent(contexts, owned, partition, LIFE, order=("record_no", "member_id"))
    return _collected(gone, entry, "unowned_partitions")


def _shared_clients(
    contexts: DataFrame, generation_members: DataFrame, carried: dict[str, DataFrame] | None
) -> DataFrame:
    """As known by the context generation; what shows later, a later run sees for itself."""
    shown = together(generation_members)
    if carried:
        before = _of_life(carried["shared_clients"]).withColumn("generation", F.lit(0))
        shown = shown.unionByName(before)
    known = (
        contexts.join(shown, on=LIFE, how="inner")
        .where("generation <= context_generation")
        .groupBy(*DAY, "client_id", "client_host")
        .agg(F.min("since").alias("since"))
    )
    return _collected(known, F.struct("client_id", "client_host", "since"), "shared_clients")


def _gone_processes(
    contexts: DataFrame,
    recorded: DataFrame,
    generation_members: DataFrame,
    carried: dict[str, DataFrame] | None,
) -> DataFrame:
    process = [*GROUP, "process"]
    there = (
        generation_members.join(recorded, on=GENERATION, how="inner")
        .select(*process, "record_no", "until")
        .distinct()
    )
    if carried:
        before = carried["gone_processes"].withColumn("record_no", F.lit(0))
        there = there.unionByName(before.drop("context_incarnation"))
    gone = _absent(contexts, there, process, GROUP)
    # However long ago that was by now: a later run tells of what followed the context generation.
    remembered = gone.where(F.datediff("began", "until") <= REMEMBERED_DAYS)
    return _collected(remembered, F.struct("process", "until"), "gone_processes")


def _absent(
    contexts: DataFrame,
    there: DataFrame,
    what: list[str],
    history: list[str],
    *,
    order: tuple[str, ...] = ("record_no",),
) -> DataFrame:
    """On each day what was ``there`` before the context generation and is not in it, as it was when
    it was last there, by ``order``, for it may have been there several times at once.
    """
    in_order = Window.partitionBy(*what).orderBy(*order)
    gone = there.withColumn("next_no", F.lead("record_no").over(in_order)).where(
        "next_no IS NULL OR next_no > record_no + 1"
    )
    other = [name for name in contexts.columns if name in gone.columns and name not in history]
    on_days = contexts.drop(*other).join(gone, on=history, how="inner")
    return on_days.where("record_no < context_no AND (next_no IS NULL OR next_no > context_no)")


def _of_life(carried: DataFrame) -> DataFrame:
    return carried.withColumnRenamed("context_incarnation", "incarnation")


def _collected(entries: DataFrame, entry: Column, name: str) -> DataFrame:
    return entries.groupBy(*DAY).agg(F.array_sort(F.collect_list(entry)).alias(name))


def run(lake: Lake) -> None:
    carried = {name: lake.carried(name) for name in CARRIED}
    known = {name: entries for name, entries in carried.items() if entries is not None}
    lake.replace("group_days", group_days(*map(lake.read, READS), known or None))


if __name__ == "__main__":
    main(__doc__, run)
