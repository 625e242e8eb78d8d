"""The fewest moves any assignment could have made, for every generation that moved something.

The adapter between Arrow and coordinator_core.assignors.quality: whole batches of generations, a
row each, so that one flapping group is as many tasks as any other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise, starmap

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType

from coordinator_core.assignors import Member, Topics
from coordinator_core.assignors.quality import Before, owners

# Generations unpacked together: as Python's objects they take ten times what a batch does.
AT_ONCE = 64

GIVEN, THERE, FORCED = "given", "there", "forced"


def given() -> Column:
    """Of a generation's rows process, topic, partition, last_owner (null if it never had one)."""
    return F.collect_list(F.struct("process", "topic", "partition", "last_owner")).alias(GIVEN)


def there() -> Column:
    """Of a generation's members process and subscribed_topics (null if they cannot be read)."""
    return F.collect_list(F.struct("process", "subscribed_topics")).alias(THERE)


def with_forced_moves(generations: DataFrame) -> DataFrame:
    """A column ``forced`` in the place of ``given`` and ``there``; 0 where ``moved`` is 0."""
    kept = generations.drop(GIVEN, THERE)
    lists = (F.when(F.col("moved") > 0, F.col(name)).alias(name) for name in (GIVEN, THERE))
    return generations.select(*kept.columns, *lists).mapInArrow(
        _forced_in_batches, kept.schema.add(FORCED, IntegerType())
    )


def _forced_in_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        forced = pa.array(forced_in(batch[GIVEN], batch[THERE]), pa.int32())
        yield batch.drop_columns([GIVEN, THERE]).append_column(FORCED, forced)


def forced_in(given: pa.ListArray, there: pa.ListArray) -> Iterator[int]:
    """One number for each generation, of these two of its columns."""
    for start in range(0, len(given), AT_ONCE):
        rows = (_rows(lists.slice(start, AT_ONCE)) for lists in (given, there))
        yield from starmap(forced_in_generation, zip(*rows, strict=True))


def _rows(lists: pa.ListArray) -> Iterator[list[Sequence]]:
    """Each list of structs as a list of every field's values."""
    fields = [field.to_pylist() for field in lists.flatten().flatten()]
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_pylist()
    for start, end in pairwise(accumulate(lengths, initial=0)):
        yield [values[start:end] for values in fields]


def forced_in_generation(given: Sequence[Sequence], there: Sequence[Sequence]) -> int:
    """Partitions are counted as far as they were given: records do not say how many a topic has."""
    moved = 0
    counts: dict[str, int] = {}
    before: dict[str, list[tuple[str, int]]] = defaultdict(list)
    given_topics: dict[str, set[str]] = defaultdict(set)
    for process, topic, number, last in zip(*given, strict=True):
        if number >= counts.get(topic, 0):
            counts[topic] = number + 1
        given_topics[process].add(topic)
        if last is not None:
            before[last].append((topic, number))
            moved += last != process
    topics_of: dict[str, set[str]] = defaultdict(set)
    for process, said in zip(*there, strict=True):
        # Who does not say takes what it was given.
        topics_of[process].update(given_topics[process] if said is None else said)
    members = [Member(process, sorted(said)) for process, said in sorted(topics_of.items())]
    found = Before(_topics(tuple(sorted(counts.items()))), members, owners(before))
    # A cooperative round that only takes away has not moved anything yet.
    return min(found.moves_forced, moved)


@lru_cache(maxsize=1024)
def _topics(counts: tuple[tuple[str, int], ...]) -> Topics:
    return Topics(dict(counts))
