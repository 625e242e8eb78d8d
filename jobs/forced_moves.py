"""The fewest moves any assignment could have made, for every generation that moved something.

A grouped pandas UDF over chunks of generations: the adapter between pandas and
coordinator_core.assignors.quality.
"""

from __future__ import annotations

from collections import defaultdict

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from coordinator_core.assignors import Member, Topics
from coordinator_core.assignors.quality import Quality
from jobs.timeline import GENERATION, LIFE

# Generations to a group of the UDF: one flapping group must not be one task.
CHUNK = 256
SCHEMA = "cluster_id string, group_id string, incarnation int, generation int, forced int"


def forced_moves(owned: DataFrame, members: DataFrame) -> DataFrame:
    """GENERATION and ``forced``.

    ``owned``: GENERATION, process, topic, partition, last_owner (null if it never had one).
    ``members``: GENERATION, process, subscribed_topics (null if they cannot be read).
    """
    moved = owned.where("last_owner <> process").select(*GENERATION).distinct()
    given = owned.select(
        *GENERATION, "process", "topic", "partition", "last_owner",
        F.lit(None).cast("array<string>").alias("subscribed_topics"),
    )  # fmt: skip
    there = members.select(
        *GENERATION,
        "process",
        F.lit(None).cast("string").alias("topic"),
        F.lit(None).cast("int").alias("partition"),
        F.lit(None).cast("string").alias("last_owner"),
        "subscribed_topics",
    )
    rows = given.unionByName(there).join(moved, on=GENERATION, how="left_semi")
    chunk = F.floor(F.col("generation") / CHUNK)
    return rows.groupBy(*LIFE, chunk.alias("chunk")).applyInPandas(forced_in_chunk, SCHEMA)


def forced_in_chunk(rows: pd.DataFrame) -> pd.DataFrame:
    forced = [(*key, forced_in_generation(part)) for key, part in rows.groupby(GENERATION)]
    return pd.DataFrame(forced, columns=[*GENERATION, "forced"])


def forced_in_generation(rows: pd.DataFrame) -> int:
    """Rows with a topic are partitions given, the others are members with their subscriptions.

    Partitions are counted as far as they were given: records do not say how many a topic has.
    """
    given = rows[rows.topic.notna()]
    partitions = {str(t): int(p) + 1 for t, p in given.groupby("topic").partition.max().items()}
    before: dict[str, list[tuple[str, int]]] = defaultdict(list)
    after: dict[str, list[tuple[str, int]]] = defaultdict(list)
    columns = (given.topic, given.partition, given.process, given.last_owner)
    for topic, partition, process, last_owner in zip(*columns, strict=True):
        after[process].append((topic, int(partition)))
        if isinstance(last_owner, str):
            before[last_owner].append((topic, int(partition)))
    there = rows[rows.topic.isna()]
    topics_of: dict[str, set[str]] = {}
    for process, topics in zip(there.process, there.subscribed_topics, strict=True):
        # Who does not say takes what it was given.
        known = {topic for topic, _ in after[process]} if topics is None else set(topics)
        topics_of[process] = topics_of.get(process, set()) | known
    members = [Member(process, sorted(topics)) for process, topics in sorted(topics_of.items())]
    quality = Quality(Topics(partitions), members, before, after)
    # A cooperative round that only takes away has not moved anything yet.
    return min(
        quality.moves_forced,
        sum(_is_moved(*pair) for pair in zip(given.process, given.last_owner, strict=True)),
    )


def _is_moved(process: str, last_owner: object) -> bool:
    return isinstance(last_owner, str) and last_owner != process
