"""The fewest moves any assignment could have made, for every generation that moved something.

A grouped pandas UDF over chunks of generations: the adapter between pandas and
coordinator_core.assignors.quality.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from coordinator_core.assignors import Member, TopicPartition, Topics
from coordinator_core.assignors.quality import Before, owners
from jobs.timeline import GENERATION, LIFE

# Generations to a group of the UDF: one flapping group must not be one task.
CHUNK = 256
SCHEMA = "cluster_id string, group_id string, incarnation int, generation int, forced int"
COLUMNS = ("process", "topic", "partition", "last_owner", "subscribed_topics")


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
    columns = (rows[name] for name in (*GENERATION, *COLUMNS))
    generations: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for row in zip(*columns, strict=True):
        generations[row[: len(GENERATION)]].append(row[len(GENERATION) :])
    forced = [(*key, forced_in_generation(part)) for key, part in generations.items()]
    return pd.DataFrame(forced, columns=[*GENERATION, "forced"])


def forced_in_generation(rows: Iterable[tuple[Any, ...]]) -> int:
    """Rows of COLUMNS; with a topic they are partitions given, the others are members.

    Partitions are counted as far as they were given: records do not say how many a topic has.
    """
    partitions: dict[str, int] = {}
    before: dict[str, list[TopicPartition]] = defaultdict(list)
    given_topics: dict[str, set[str]] = defaultdict(set)
    said: list[tuple[str, Any]] = []
    moved = 0
    for process, topic, partition, last_owner, topics in rows:
        if not isinstance(topic, str):
            said.append((process, topics))
            continue
        partitions[topic] = max(partitions.get(topic, 0), int(partition) + 1)
        given_topics[process].add(topic)
        if isinstance(last_owner, str):
            before[last_owner].append((topic, int(partition)))
            moved += last_owner != process
    topics_of: dict[str, set[str]] = defaultdict(set)
    for process, topics in said:
        # Who does not say takes what it was given.
        topics_of[process] |= given_topics[process] if topics is None else set(topics)
    members = [Member(process, sorted(topics)) for process, topics in sorted(topics_of.items())]
    found = Before(Topics(partitions), members, owners(before))
    # A cooperative round that only takes away has not moved anything yet.
    return min(found.moves_forced, moved)
