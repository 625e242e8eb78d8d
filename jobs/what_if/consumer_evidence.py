"""The evidence of all groups of the new types as a grouped DataFrame, and of one of them the
baseline of its prediction and its observed figures.

reads   timeline, group_records, generations, rebalance_causes, ownership_gaps, assignments, churn,
        rebalance_latency
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter

import pyarrow as pa
from pyspark.sql import DataFrame, GroupedData
from pyspark.sql import functions as F

from coordinator_core.coordinator.era_evidence import InferredEra
from coordinator_core.epochs.heartbeats import Timing
from coordinator_core.epochs.process_ends import Ends
from coordinator_core.whatif import Baseline, Figures, NotAConsumerGroup
from coordinator_core.whatif.baseline import ConsumerSettings
from coordinator_core.whatif.consumer_baseline import ConsumerEvidence, consumer_baseline_of
from jobs.engine.union import union_of
from jobs.epochs.evidence import evidence_by_incarnation, played_rows
from jobs.epochs.lives import life_rows, processes_of
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY
from jobs.replay.group_rows import Row

READS = (
    "timeline",
    "group_records",
    "generations",
    "rebalance_causes",
    "ownership_gaps",
    "assignments",
    "churn",
    "rebalance_latency",
)
CONSUMER = "consumer"
_KINDS = ("step", "life", "count", "generation", "downtime")
_MEMBER_RECORD = "ConsumerGroupMemberMetadata"
_TARGET_RECORD = "ConsumerGroupTargetAssignmentMetadata"
_REFUSED = "STATIC_REFUSED"


def groups_of_new_types(generations: DataFrame, group_records: DataFrame) -> DataFrame:
    """Groups whose last generation is not of a classic group, and those that have records of the
    new types but no generation.
    """
    place = F.struct("incarnation", "generation")
    last = generations.groupBy(*GROUP_KEY).agg(
        F.max(F.when(F.col("group_type") != "classic", place)).alias("new"),
        F.max(F.when(F.col("group_type") == "classic", place)).alias("classic"),
    )
    new = last.where("new IS NOT NULL AND (classic IS NULL OR new > classic)").select(*GROUP_KEY)
    unplaced = group_records.select(*GROUP_KEY).distinct()
    unplaced = unplaced.join(generations.select(*GROUP_KEY).distinct(), GROUP_KEY, how="left_anti")
    return new.unionByName(unplaced)


def evidence_of_new_types(
    tables: Mapping[str, DataFrame], groups: DataFrame, downtime: DataFrame
) -> GroupedData:
    """One row per record, line, cause and so on of these groups; see `ConsumerRows`.

    ``downtime``: of each group within its period, in ``at_ms``.
    """
    generations = tables["generations"]
    kinds = {
        "step": evidence_by_incarnation(tables["timeline"], tables["group_records"]),
        "life": life_rows(generations, tables["rebalance_causes"], tables["ownership_gaps"]),
        "count": _counts(tables["assignments"], generations),
        "generation": _generations(generations, tables["churn"], tables["rebalance_latency"]),
        "downtime": downtime,
    }
    packed = [
        rows.select(*GROUP_KEY, F.struct(*rows.columns).alias(name)) for name, rows in kinds.items()
    ]
    return union_of(*packed).join(groups, on=GROUP_KEY, how="left_semi").groupBy(*GROUP_KEY)


def _counts(assignments: DataFrame, generations: DataFrame) -> DataFrame:
    """When a target had so many partitions of a topic."""
    targets = assignments.where("is_target").select(*GENERATION_KEY, "topic", "partition")
    times = generations.where("joined_time IS NOT NULL").select(
        *GENERATION_KEY, F.unix_millis("joined_time").alias("at_ms")
    )
    joined = targets.join(times, on=GENERATION_KEY, how="inner")
    return joined.groupBy(*GROUP_KEY, "at_ms", "topic").agg(
        (F.max("partition") + 1).alias("partitions")
    )


def _generations(generations: DataFrame, churn: DataFrame, latency: DataFrame) -> DataFrame:
    """What the observed figures are sums of."""
    moved = churn.select(*GENERATION_KEY, "partitions_moved")
    spent = latency.select(
        *GENERATION_KEY,
        F.unix_millis("preparing_time").alias("began_ms"),
        (F.coalesce("join_ms", F.lit(0)) + F.coalesce("sync_ms", F.lit(0))).alias("spent_ms"),
    )
    rows = generations.select(
        *GENERATION_KEY, "group_type", "protocol", F.unix_millis("joined_time").alias("joined_ms")
    )
    with_moves = rows.join(moved, on=GENERATION_KEY, how="left")
    return with_moves.join(spent, on=GENERATION_KEY, how="left")


def consumer_era(group_records: DataFrame) -> str | None:
    """The era of brokers that wrote records of consumer groups: 4.4 writes when each target was
    computed, 4.1 does not; None: no such record.
    """
    targets = group_records.where((F.col("record") == _TARGET_RECORD) & ~F.col("tombstone"))
    counts = targets.agg(F.count("*").alias("targets"), F.count("timestamp_ms").alias("timed"))
    row = counts.first()
    if row is None or not row.targets:
        return None
    return "4.4" if row.timed else "4.1"


class ConsumerRows:
    """The rows of one group of `evidence_of_new_types`."""

    def __init__(self, evidence: pa.Table) -> None:
        (self.keys,) = evidence.select(GROUP_KEY).slice(0, 1).to_pylist()
        self._rows: dict[str, list[Row]] = {
            kind: [row for row in evidence[kind].to_pylist() if row is not None] for kind in _KINDS
        }

    @cached_property
    def types(self) -> list[str]:
        """Group types, by generations and records, in the order of the generations."""
        generations = sorted(
            self._rows["generation"], key=lambda row: (row["incarnation"], row["generation"])
        )
        types = [row["group_type"] for row in generations]
        types += [row["group_type"] for row in self._rows["step"]]
        return list(dict.fromkeys(each for each in types if each is not None))

    @property
    def has_classic_members(self) -> bool:
        return any(row["protocols"] is not None for row in self._rows["step"])

    def baseline(
        self, era: str | None, *, from_ms: int | None, to_ms: int | None, until_ms: int
    ) -> Baseline:
        """Raises NotAConsumerGroup, also for a group that has members of the classic protocol."""
        group_id = self.keys["group_id"]
        if self.types != [CONSUMER] or self.has_classic_members:
            raise NotAConsumerGroup(f"{group_id}: {not_predicted(self.types)}")
        timing = _timing(self._rows["step"])
        settings = ConsumerSettings(timing.session_ms, timing.interval_ms, self._assignor())
        lives = [row | {"session_timeout_ms": timing.session_ms} for row in self._rows["life"]]
        evidence = ConsumerEvidence(
            InferredEra(era or "4.1", "records of the cluster's consumer groups"),
            settings,
            processes_of(lives)[0],
            sorted((row["at_ms"], row["topic"], row["partitions"]) for row in self._rows["count"]),
            self._subscriptions(),
            until_ms,
        )
        return consumer_baseline_of(group_id, evidence, from_ms=from_ms, to_ms=to_ms)

    def observed(self, baseline: Baseline) -> Figures:
        """The figures of the baseline's period."""
        generations = self._rows["generation"]
        targets = [row for row in generations if _is_within(baseline, row["joined_ms"])]
        refused = [row for row in self._rows["life"] if row["cause"] == _REFUSED]
        return Figures(
            len(targets),
            sum(_spent_ms(baseline, row) for row in generations),
            sum(row["partitions_moved"] or 0 for row in targets),
            sum(row["at_ms"] or 0 for row in self._rows["downtime"]),
            sum(_is_within(baseline, row["at_ms"]) for row in refused),
        )

    def _assignor(self) -> str | None:
        """That of the last target that has one."""
        named = [row for row in self._rows["generation"] if row["protocol"] is not None]
        in_order = sorted(named, key=lambda row: (row["incarnation"], row["generation"]))
        return next((str(row["protocol"]) for row in reversed(in_order)), None)

    def _subscriptions(self) -> dict[str, tuple[str, ...]]:
        members = [
            row
            for row in self._rows["step"]
            if row["record"] == _MEMBER_RECORD and not row["tombstone"]
        ]
        in_order = sorted(members, key=itemgetter("log_offset"))
        return {row["member_id"]: tuple(row["topics"] or ()) for row in in_order}


def not_predicted(types: Sequence[str]) -> str:
    """Why a group of these types is not predicted."""
    if CONSUMER in types:
        return "was converted between the classic and the consumer protocol"
    return f"a group of type {', '.join(types) or 'unknown'}; only consumers can be predicted"


def _is_within(baseline: Baseline, at_ms: int | None) -> bool:
    return at_ms is not None and baseline.from_ms <= at_ms <= baseline.to_ms


def _spent_ms(baseline: Baseline, generation: Row) -> int:
    """Not longer than until the end of the period."""
    if not _is_within(baseline, generation["began_ms"]):
        return 0
    left_ms: int = baseline.to_ms - generation["began_ms"]
    return min(generation["spent_ms"] or 0, left_ms)


def _timing(steps: Iterable[Row]) -> Timing:
    """Of the incarnation with the most memberships."""
    incarnation = itemgetter("incarnation")
    histories = [
        played_rows(list(rows)) for _, rows in groupby(sorted(steps, key=incarnation), incarnation)
    ]
    if not histories:
        raise NotAConsumerGroup("no records")
    most = max(histories, key=lambda history: len(history.memberships))
    return Ends(most, {}).timing
