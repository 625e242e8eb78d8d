"""Take snapshots of a cluster's groups: what their coordinators answer now.

reads   the groups of a running cluster, through the Admin API (jobs.sources.topic.live_groups),
        or files with output of `kafka-consumer-groups --describe` (described_groups)
writes  group_snapshots   one row per group and snapshot
        end_offsets       log end offsets of the topics that members of the groups are assigned, and
                          that the groups of the lake commit into
        configurations    settings of brokers and consumer groups, at the first and each 50th
                          snapshot

A snapshot needs no access to `__consumer_offsets` or logs.  The views snapshot_* derive generations
and members from consecutive snapshots.  Rows are written by delta-rs, without an engine.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import pyarrow as pa

from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.figures import counted
from jobs.bronze.configurations import add_live
from jobs.bronze.live_end_offsets import TABLE as END_OFFSETS
from jobs.bronze.live_end_offsets import store_end_offsets
from jobs.bronze.table_rows import arrow_schema
from jobs.configuration.alert_settings import span_s
from jobs.configuration.config import Config
from jobs.console.errors import RunFailed, UsageError, failure_line
from jobs.console.interrupt import Terminated, follows_interrupt, handle_sigterm, interrupt_before
from jobs.lake.arrow_tables import ArrowLake
from jobs.lake.files import list_files, open_file
from jobs.lake.opening import open_without_engine
from jobs.sources.topic.described_groups import described_groups
from jobs.sources.topic.kafka import Kafka
from jobs.sources.topic.live_groups import GroupRow, LiveGroups

TABLE = "group_snapshots"
EVERY = "30s"
# Each snapshot adds a file, and files are combined after this many snapshots.
SNAPSHOTS_PER_COMPACTION = 50
MOST_PROBLEMS = 20  # shown per file


@dataclass(frozen=True)
class SnapshotOptions:
    """``every`` is the time between the starts of two snapshots.  ``lasts`` is the time after which
    no further snapshot starts.  ``count`` is the number of snapshots.  Without any of the three
    options, one snapshot is taken.
    """

    lake: str
    cluster_id: str
    bootstrap: str
    every: str | None = None
    lasts: str | None = None
    count: int | None = None

    def check(self) -> None:
        if self.lasts is not None and self.count is not None:
            raise UsageError("give either --for or --count")

    @property
    def every_s(self) -> int:
        return span_s(self.every or EVERY, "--every")

    def is_last(self, number: int, next_start_s: float) -> bool:
        """Returns whether snapshot ``number``, counted from 1, is the last one; the next one would
        start ``next_start_s`` after the first.
        """
        if self.lasts is not None:
            return next_start_s > span_s(self.lasts, "--for")
        if self.count is not None:
            return number >= self.count
        return self.every is None


@dataclass(kw_only=True)
class Snapshots:
    """The state of the loop.

    ``store_ends`` stores the log end offsets of topics, and ``store_settings`` the settings of
    brokers and of these groups; ``say`` prints a line; ``wait`` sleeps for this many seconds.
    """

    options: SnapshotOptions
    lake: ArrowLake
    groups: LiveGroups
    store_ends: Callable[[set[str]], None] = lambda _: None
    store_settings: Callable[[set[str]], None] = lambda _: None
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True)
    wait: Callable[[float], None] = time.sleep
    _taken: int = 0
    _failed: int = 0
    _previous: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Snapshot after snapshot.  The first one raises its error; each later error is a line, and
        RunFailed at the end."""
        began, number = time.monotonic(), 1
        self._take(number)
        while not self.options.is_last(number, next_s := number * self.options.every_s):
            self.wait(max(0.0, began + next_s - time.monotonic()))
            number += 1
            self._take(number)
        if self._failed:
            raise RunFailed(f"{self._failed} of {number} snapshots failed; see the lines above")

    def _take(self, number: int) -> None:
        try:
            line = self.take()
        except Exception as error:
            if number == 1 or follows_interrupt(error):
                raise
            self._failed += 1
            line = f"failed: {failure_line(error)}"
        self.say(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} snapshot {number}: {line}")

    def take(self) -> str:
        """Add one snapshot to the table; returns what its line says."""
        began = time.monotonic()
        snapshot_time = datetime.now(UTC)
        rows = list(self.groups.rows(self._previous))
        if rows:
            self.lake.append_rows(TABLE, table_of(rows, self.lake.cluster_id, snapshot_time))
        self.store_ends(_topics_of(rows))
        if self._taken % SNAPSHOTS_PER_COMPACTION == 0:
            self.store_settings({row.group_id for row in rows if row.group_type == CONSUMER.name})
        self._previous = {row.group_id for row in rows if row.state != "Dead"}
        self._taken += 1
        if self._taken % SNAPSHOTS_PER_COMPACTION == 0:
            for table in filter(self.lake.has, (TABLE, END_OFFSETS)):
                self.lake.compact(table)
        for problem in [*self.groups.problems, *_not_described(rows)]:
            self.say(f"regroup: {problem}")
        return f"{_counts(rows)}, {time.monotonic() - began:.2f} s"


def snapshot(options: SnapshotOptions, config: Config) -> None:
    """Take the snapshots that the options ask for; SIGTERM ends the loop."""
    options.check()
    # This raises UsageError for wrong durations before any request is sent.
    options.is_last(1, options.every_s)
    lake = open_without_engine(options.lake, options.cluster_id)
    settings = config.kafka_settings()
    kafka = Kafka(options.bootstrap, settings, option="--bootstrap")
    snapshots = Snapshots(
        options=options,
        lake=lake,
        groups=LiveGroups(options.bootstrap, settings),
        store_ends=partial(store_end_offsets, lake, kafka),
        store_settings=partial(add_live, lake, kafka),
    )
    handle_sigterm()
    try:
        snapshots.run()
    except BaseException as error:
        if not isinstance(interrupt_before(error), Terminated):
            raise


@dataclass(frozen=True)
class DescribeOptions:
    """``files`` have the path, folder or glob.  ``timezone`` applies to dates without a zone.
    ``since_ms``: see
    `described_groups`."""

    lake: str
    cluster_id: str
    files: str
    timezone: str
    since_ms: int | None = None


def snapshots_of_files(options: DescribeOptions) -> None:
    """Add the snapshots in the files that the table does not have.

    Raises RunFailed if a file has no snapshot.
    """
    files = list_files(options.files, "--describe", name_like="*")
    lake = open_without_engine(options.lake, options.cluster_id)
    silent = []
    for file in files:
        with open_file(file) as stream:
            description = described_groups(stream.read(), options.timezone, options.since_ms)
        snapshots = description.snapshots
        for each in snapshots:
            lake.add_new(TABLE, table_of(each.rows, lake.cluster_id, each.time))
        for problem in description.problems[:MOST_PROBLEMS]:
            print(f"{file}: {problem}", file=sys.stderr)
        more = len(description.problems) - MOST_PROBLEMS
        if more > 0:
            print(f"{file}: {more:,} more lines are not used", file=sys.stderr)
        rows = [row for each in snapshots for row in each.rows]
        print(f"{file}: {counted(len(snapshots), 'snapshot')}, {_counts(rows)}", file=sys.stderr)
        silent += [] if snapshots else [file]
    if silent:
        raise RunFailed(
            f"no snapshot in {', '.join(silent)}: give output of kafka-consumer-groups --describe"
        )


def table_of(rows: list[GroupRow], cluster_id: str, snapshot_time: datetime) -> pa.Table:
    """The rows of one snapshot for group_snapshots."""
    common = {
        "cluster_id": cluster_id,
        "snapshot_time": snapshot_time,
        "event_date": snapshot_time.date(),
    }
    values = [common | row.columns() for row in rows]
    return pa.Table.from_pylist(values, arrow_schema(TABLE))


def _topics_of(rows: list[GroupRow]) -> set[str]:
    """The topics of which a member has a partition."""
    members = [member for row in rows for member in row.members or ()]
    return {each["topic"] for member in members for each in member["assigned"] or ()}


def _counts(rows: list[GroupRow]) -> str:
    described = [row for row in rows if row.error is None]
    states = Counter(row.state for row in described)
    members = sum(len(row.members or ()) for row in described)
    by_state = ", ".join(f"{count:,} {state}" for state, count in states.most_common())
    groups = counted(len(rows), "group")
    return f"{groups}{by_state and f' ({by_state})'}, {counted(members, 'member')}"


def _not_described(rows: list[GroupRow]) -> Iterator[str]:
    """A line per error, with the number of its groups and the first of these groups."""
    errors = Counter(row.error for row in rows if row.error is not None)
    for error, count in errors.most_common():
        first = next(row.group_id for row in rows if row.error == error)
        groups = f"group {first}" if count == 1 else f"{count:,} groups, the first is {first}"
        yield f"not described: {groups}: {error}"


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("snapshot")
