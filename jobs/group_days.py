"""The facts about each group's history with which runs for later dates need not read the whole
history.

reads   timeline, generations, generation_members, assignments
writes  group_days   one row per group and date with events of it

The open generation of a date is the last one recorded some minutes before the date ended: rows from
there on may still change.  The context generation is the generation recorded before the open
generation: a later run reads from there on.  Three lists carry over the facts that this run needs
from still older generations.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.assignments import IS_OWNER
from jobs.causes.processes import FENCED_MS, REMEMBERED_DAYS
from jobs.engine.keeping import computed
from jobs.engine.pieces import in_pieces
from jobs.engine.union import union_of
from jobs.generation_members import concurrent_members
from jobs.group_events import SEQ_PER_MS
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, INCARNATION_KEY, PARTITION_KEY
from jobs.lake.scope import RunScope
from jobs.timeline import RECORDS, TARGET_RECORD

READS = ("timeline", "generations", "generation_members", "assignments")

# Maximum number of rows of assignments in memory, on the embedded engine.
PARTITIONS_AT_ONCE = 5_000_000
DAY_MS = 86_400_000
# Later events may change rows for this long: a restart is visible within a minute, and a replaced
# process that still runs is visible within FENCED_MS.
UNSETTLED_MS = FENCED_MS
DAY_KEY = [*GROUP_KEY, "event_date"]
POSITION = ["incarnation", "generation", "seq"]
CARRIED = ["unowned_partitions", "shared_clients", "gone_processes"]


def group_days(
    timeline: DataFrame,
    generations: DataFrame,
    generation_members: DataFrame,
    assignments: DataFrame,
    carried: dict[str, DataFrame] | None = None,
) -> DataFrame:
    """``carried`` has the entries of the previous date's lists by column, see
    `RunScope.carried`.
    """
    # All branches below use these small results, so the checkpoints truncate their plans.
    days = computed(_with_positions(_dates(timeline), _generations(timeline)))
    recorded = _recorded(generations)
    contexts = computed(_contexts(days, recorded))
    lists = {
        "unowned_partitions": _unowned(contexts, recorded, assignments, carried),
        "shared_clients": _shared_clients(contexts, generation_members, carried),
        "gone_processes": _gone_processes(contexts, recorded, generation_members, carried),
    }
    for name in CARRIED:
        days = days.join(lists[name], on=DAY_KEY, how="left")
    return _with_context_date(days, generations).select(
        *DAY_KEY,
        *(F.col(f"open.{name}").alias(f"open_{name}") for name in POSITION),
        *(F.col(f"context.{name}").alias(f"context_{name}") for name in POSITION),
        "context_date",
        *(F.coalesce(name, F.array()).alias(name) for name in CARRIED),
    )


def _generations(timeline: DataFrame) -> DataFrame:
    """The position of each generation with a record or a log line: POSITION, ``record_seq`` (null
    without a record) and ``previous``, the last recorded generation before it, else the last one
    logged.  Groups that had a target assignment have no rows, because each run reads their whole
    history.
    """
    by_lines = timeline.where("epoch IS NOT NULL").select(*GROUP_KEY).distinct()
    is_record = F.col("event").isin(*RECORDS)
    generations = (
        timeline.where("event_generation > 0 AND event <> 'REBALANCE_START'")
        .groupBy(*INCARNATION_KEY, F.col("event_generation").alias("generation"))
        .agg(
            F.min("seq").alias("seq"),
            F.min(F.when(is_record, F.col("seq"))).alias("record_seq"),
            F.max(F.col("event") == TARGET_RECORD).alias("is_target"),
        )
        .withColumn("has_target", F.max("is_target").over(Window.partitionBy(*GROUP_KEY)))
        .where("NOT has_target")
        .drop("is_target", "has_target")
        .join(by_lines, on=GROUP_KEY, how="left_anti")
    )
    history = Window.partitionBy(*GROUP_KEY).orderBy("seq")
    earlier = history.rowsBetween(Window.unboundedPreceding, -1)
    position = F.struct(*POSITION)
    recorded = F.when(F.col("record_seq").isNotNull(), position)
    last_recorded = F.last(recorded, ignorenulls=True).over(earlier)
    previous = F.coalesce(last_recorded, F.lag(position).over(history))
    return generations.withColumn("previous", previous)


def _dates(timeline: DataFrame) -> DataFrame:
    """Returns one row per group and date; ``at`` is the seq up to which its history is settled."""
    end_ms = (F.unix_date("event_date").cast("long") + 1) * DAY_MS
    return (
        timeline.select(*DAY_KEY).distinct().withColumn("at", (end_ms - UNSETTLED_MS) * SEQ_PER_MS)
    )


def _with_positions(dates: DataFrame, generations: DataFrame) -> DataFrame:
    """``open`` is the last generation recorded before ``at``, else the last one logged;
    ``context``: its ``previous``.
    """
    recorded = generations.where("record_seq IS NOT NULL")
    marks = union_of(
        dates,
        _marks(recorded, "record_seq", "recorded"),
        _marks(generations, "seq", "logged"),
    )
    so_far = (
        Window.partitionBy(*GROUP_KEY)
        .orderBy("at", "event_date")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    last = [F.last(name, ignorenulls=True).over(so_far) for name in ("recorded", "logged")]
    days = marks.withColumn("open", F.coalesce(*last)).where("event_date IS NOT NULL")
    return days.select(*DAY_KEY, "open", F.col("open.previous").alias("context"))


def _marks(generations: DataFrame, at: str, name: str) -> DataFrame:
    position = F.struct(*POSITION, "previous")
    return generations.select(*GROUP_KEY, F.col(at).alias("at"), position.alias(name))


def _with_context_date(days: DataFrame, generations: DataFrame) -> DataFrame:
    """A generation's rows begin on the date on which it was prepared."""
    dates = generations.select(
        *GROUP_KEY,
        F.struct("incarnation", "generation").alias("id"),
        F.col("event_date").alias("context_date"),
    )
    id_ = F.when(
        F.col("context").isNotNull(), F.struct("context.incarnation", "context.generation")
    )
    return days.withColumn("id", id_).join(dates, on=[*GROUP_KEY, "id"], how="left")


def _recorded(generations: DataFrame) -> DataFrame:
    """Numbered generations with records, with their date (``began``) and the date of the next
    generation (``until``).
    """
    history = Window.partitionBy(*GROUP_KEY).orderBy("incarnation", "generation")
    return generations.where("evidence <> 'log'").select(
        *GENERATION_KEY,
        F.row_number().over(history).alias("record_no"),
        F.col("event_date").alias("began"),
        F.lead("event_date").over(history).alias("until"),
    )


def _contexts(days: DataFrame, recorded: DataFrame) -> DataFrame:
    """The days whose context generation has a record: DAY_KEY, its incarnation, its
    ``context_generation`` and its number ``context_no``.
    """
    positioned = days.where("context IS NOT NULL").select(
        *DAY_KEY, "context.incarnation", "context.generation"
    )
    return positioned.join(
        recorded.drop("until"), on=GENERATION_KEY, how="inner"
    ).withColumnsRenamed({"record_no": "context_no", "generation": "context_generation"})


def _unowned(
    contexts: DataFrame,
    recorded: DataFrame,
    assignments: DataFrame,
    carried: dict[str, DataFrame] | None,
) -> DataFrame:
    """Sorts no rows of ``assignments``, of which there are many: most are for partitions that the
    context generation has."""
    partition = [*INCARNATION_KEY, *PARTITION_KEY]
    actual = assignments.where(IS_OWNER)
    owned = actual.join(_until_contexts(contexts, recorded), on=GENERATION_KEY).select(
        *partition, "process", "member_id", "record_no", "until_no"
    )
    if carried:
        earlier = _of_incarnation(carried["unowned_partitions"])
        owned = owned.unionByName(
            earlier.withColumns({"record_no": F.lit(0), "until_no": F.lit(0)})
        )
    last = owned.groupBy(*partition, "until_no").agg(F.max("record_no").alias("record_no"))
    unowned = _absent(contexts, last, partition, INCARNATION_KEY).select(
        *DAY_KEY, "incarnation", *PARTITION_KEY, "record_no"
    )
    owners = (
        unowned.join(owned, on=[*partition, "record_no"])
        .groupBy(*DAY_KEY, *PARTITION_KEY)
        # If a generation has several owners, use the last member.
        .agg(F.max(F.struct("member_id", "process")).alias("owner"))
    )
    entry = F.struct("topic", "partition", "owner.process", "owner.member_id")
    return _collected(owners, entry, "unowned_partitions")


def _until_contexts(contexts: DataFrame, recorded: DataFrame) -> DataFrame:
    """The generations up to the last context generation of their incarnation: GENERATION_KEY,
    ``record_no`` and ``until_no``, the number of the next context generation, or of itself."""
    numbers = contexts.select(*INCARNATION_KEY, F.col("context_no").alias("record_no")).distinct()
    is_context = F.lit(True).alias("is_context")
    marked = recorded.join(
        numbers.select("*", is_context), on=[*INCARNATION_KEY, "record_no"], how="left"
    )
    from_here = (
        Window.partitionBy(*INCARNATION_KEY)
        .orderBy(F.desc("record_no"))
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    context_no = F.when(F.col("is_context"), F.col("record_no"))
    until_no = F.last(context_no, ignorenulls=True).over(from_here)
    return marked.select(*GENERATION_KEY, "record_no", until_no.alias("until_no")).where(
        "until_no IS NOT NULL"
    )


def _shared_clients(
    contexts: DataFrame, generation_members: DataFrame, carried: dict[str, DataFrame] | None
) -> DataFrame:
    """Clients of several processes up to the context generation; a later run adds later clients."""
    concurrent = concurrent_members(generation_members)
    if carried:
        earlier = _of_incarnation(carried["shared_clients"])
        concurrent = concurrent.unionByName(earlier.withColumn("generation", F.lit(0)))
    shared = (
        contexts.join(concurrent, on=INCARNATION_KEY, how="inner")
        .where("generation <= context_generation")
        .groupBy(*DAY_KEY, "client_id", "client_host")
        .agg(F.min("since").alias("since"))
    )
    return _collected(shared, F.struct("client_id", "client_host", "since"), "shared_clients")


def _gone_processes(
    contexts: DataFrame,
    recorded: DataFrame,
    generation_members: DataFrame,
    carried: dict[str, DataFrame] | None,
) -> DataFrame:
    process = [*GROUP_KEY, "process"]
    present = (
        generation_members.join(recorded, on=GENERATION_KEY, how="inner")
        .select(*process, "record_no", "until")
        .distinct()
    )
    if carried:
        earlier = carried["gone_processes"].withColumn("record_no", F.lit(0))
        present = present.unionByName(earlier.drop("context_incarnation"))
    gone = _absent(contexts, present, process, GROUP_KEY)
    # Count the days up to the context generation, because a later run handles later generations.
    remembered = gone.where(F.datediff("began", "until") <= REMEMBERED_DAYS)
    return _collected(remembered, F.struct("process", "until"), "gone_processes")


def _absent(
    contexts: DataFrame, present: DataFrame, key: list[str], history: list[str]
) -> DataFrame:
    """Per day, the rows of ``present`` whose ``key`` is in a generation before the context
    generation but not in the context generation: the last row of each key.
    """
    in_order = Window.partitionBy(*key).orderBy("record_no")
    gone = present.withColumn("next_no", F.lead("record_no").over(in_order)).where(
        "next_no IS NULL OR next_no > record_no + 1"
    )
    other = [name for name in contexts.columns if name in gone.columns and name not in history]
    on_days = contexts.drop(*other).join(gone, on=history, how="inner")
    return on_days.where("record_no < context_no AND (next_no IS NULL OR next_no > context_no)")


def _of_incarnation(carried: DataFrame) -> DataFrame:
    return carried.withColumnRenamed("context_incarnation", "incarnation")


def _collected(entries: DataFrame, entry: Column, name: str) -> DataFrame:
    return entries.groupBy(*DAY_KEY).agg(F.array_sort(F.collect_list(entry)).alias(name))


def run(scope: RunScope) -> None:
    carried = {name: scope.carried(name) for name in CARRIED}
    carried_lists = {name: entries for name, entries in carried.items() if entries is not None}
    tables = {name: scope.read(name) for name in READS} | carried_lists

    def derived(**piece: DataFrame) -> DataFrame:
        lists = {name: piece[name] for name in carried_lists}
        return group_days(**{name: piece[name] for name in READS}, carried=lists or None)

    days = in_pieces(derived, tables, largest="assignments", at_once=PARTITIONS_AT_ONCE)
    scope.replace("group_days", days)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("group_days")
