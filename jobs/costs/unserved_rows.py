"""The rows of unserved_times of some groups, from their evidence."""

from __future__ import annotations

from dataclasses import fields as fields_of
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.costs.arrays import EvidenceArrays, integers, numbers, times
from jobs.costs.lag import LogEnds
from jobs.costs.rules import progress_of, reprocessed
from jobs.costs.series import LATEST_MS, NONE, Flags, Floats, Ints
from jobs.costs.tenures import Tenures, codes_of, dense, ints_of, tenures_of
from jobs.costs.unserved import FROZEN, REASONS, SLOW_POLL, Pieces, Stretches, stretches
from jobs.lake.dates import NEVER_MS


def unserved_of(arrays: EvidenceArrays, schema: pa.Schema) -> pa.Table:
    arrays = _until_last_event(arrays)
    if not len(arrays.owned) or not len(arrays.commits.part):
        return schema.empty_table()
    ends = LogEnds(arrays.log_ends)
    pieces = _pieces(arrays, ends)
    if not len(pieces.row):
        return schema.empty_table()
    unserved = stretches(pieces, arrays.commits, arrays.log_ends)
    part = pieces.part[unserved.piece]
    behind = np.maximum(ends.offsets(part, unserved.to_ms) - unserved.committed, 0)
    has_commit = unserved.committed != NONE
    row = pa.array(pieces.row[unserved.piece])
    columns = {
        **{
            name: arrays.owned.field(name).take(row)
            for name in (
                "cluster_id", "group_id", "incarnation", "generation", "topic", "partition",
                "process", "member_id",
            )
        },
        "event_date": times(unserved.from_ms).cast(pa.date32()),
        "from_time": times(unserved.from_ms),
        "to_time": times(unserved.to_ms),
        "unserved_ms": pa.array(unserved.to_ms - unserved.from_ms),
        "reason": pa.array(REASONS).take(pa.array(unserved.reason)),
        "committed_offset": numbers(unserved.committed, has_commit),
        "commit_interval_ms": pa.array(pieces.interval_ms[unserved.piece].astype(np.int64)),
        "behind": integers(np.where(has_commit, behind, np.nan)),
        "evidence": _evidence(unserved, np.isin(part, arrays.log_ends.part), arrays.owned, row),
        "estimated": pa.array(unserved.is_estimated),
    }  # fmt: skip
    columns_of_schema = [columns[field.name].cast(field.type) for field in schema]
    return pa.Table.from_arrays(columns_of_schema, schema=schema)


def _until_last_event(arrays: EvidenceArrays) -> EvidenceArrays:
    """The assignments that this run read, which end at the latest with the last event."""
    is_read = pc.is_null(arrays.owned.field("stored_low_ms"))
    owned = arrays.owned.filter(is_read)
    fields = {field.name: owned.field(field.name) for field in owned.type}
    until = pc.min_element_wise(fields["until_ms"], fields["last_ms"])
    chosen = np.asarray(is_read.to_numpy(zero_copy_only=False), dtype=bool)
    return replace(
        arrays,
        owned=pa.StructArray.from_arrays((fields | {"until_ms": until}).values(), names=fields),
        group=arrays.group[chosen],
        part=arrays.part[chosen],
    )


def _evidence(
    unserved: Stretches, has_ends: Flags, owned: pa.StructArray, row: pa.Array
) -> pa.Array:
    by_commits = pa.array(np.where(has_ends, "commits+end_offsets", "commits"))
    is_explained = pa.array(unserved.reason <= FROZEN)
    return pc.if_else(is_explained, owned.field("evidence").take(row), by_commits)


def _pieces(arrays: EvidenceArrays, ends: LogEnds) -> Pieces:
    """The assignments that living members had taken, as in `jobs.ownership.gaps`."""
    owned = arrays.owned
    tenures = tenures_of(owned, arrays.group, arrays.part)
    generation, from_ms, until_ms, polled_ms = (
        ints_of(owned.field(name)) for name in ("generation", "from_ms", "until_ms", "polled_ms")
    )
    order = np.lexsort((from_ms, generation, arrays.part))
    from_ms, until_ms = from_ms[order], np.minimum(until_ms[order], LATEST_MS)
    group, part = arrays.group[order], arrays.part[order]
    owner = dense(group, codes_of(owned.field("process"))[order])
    is_continued = np.zeros(len(order), bool)
    is_continued[1:] = (part[1:] == part[:-1]) & (owner[1:] == owner[:-1])
    is_continued[1:] &= (until_ms[:-1] >= from_ms[1:]) & (polled_ms[order][:-1] == NONE)
    chain = np.cumsum(~is_continued) - 1
    first = np.flatnonzero(~is_continued)
    last = (np.append(first[1:], len(order)) - 1)[chain]
    polled_ms = polled_ms[order[last]]
    is_taken = (until_ms > from_ms) & ((polled_ms == NONE) | (from_ms[first[chain]] <= polled_ms))
    taken = np.flatnonzero(is_taken)
    taken = taken[_outlasting(part[taken], until_ms[taken])]
    from_ms, until_ms, part, group = from_ms[taken], until_ms[taken], part[taken], group[taken]
    next_ms = np.full(len(taken), LATEST_MS)
    has_next = part[1:] == part[:-1]
    next_ms[:-1][has_next] = from_ms[1:][has_next]
    until_ms = np.minimum(until_ms, next_ms)
    tenure_of_row = np.full(len(owned), NONE)
    tenure_of_row[tenures.row] = np.arange(len(tenures.row))
    stop_ms, is_slow, position = _stops(arrays, tenures, tenure_of_row[order[last[taken]]])
    at_stop = ends.offsets(part, np.minimum(stop_ms, until_ms))
    return Pieces(
        row=order[taken],
        group=group,
        part=part,
        owner=owner[taken],
        from_ms=from_ms,
        until_ms=until_ms,
        stop_ms=stop_ms,
        reason=np.where(is_slow, SLOW_POLL, FROZEN),
        position=np.where(np.isnan(position), np.nan, np.fmin(position, at_stop)),
        interval_ms=arrays.habits.on_date(group, from_ms)[0],
    )


def _stops(arrays: EvidenceArrays, tenures: Tenures, tenure: Ints) -> tuple[Ints, Flags, Floats]:
    """The time at which the owners of these tenures stopped although they owned the partition,
    whether they were slow to poll, and the position at this time.
    """
    stop_ms, position = np.full(len(tenure), NEVER_MS), np.full(len(tenure), np.nan)
    is_slow = np.zeros(len(tenure), bool)
    tenures, numbers = _of_groups_with_stops(tenures)
    tenure = np.where(tenure == NONE, NONE, numbers[tenure]) if len(numbers) else tenure
    ended = np.flatnonzero(tenure != NONE)
    if not len(ended):
        return stop_ms, is_slow, position
    tenure = tenure[ended]
    progress = progress_of(tenures, arrays.commits, arrays.habits)
    costs = reprocessed(tenures, progress)
    is_slow[ended] = costs.is_slow[tenure]
    has_stopped = costs.is_slow[tenure] | (tenures.heard_ms[tenure] != NONE)
    stop_ms[ended] = np.where(has_stopped, costs.stop_ms[tenure], NEVER_MS)
    handled = progress.last_offset[tenure] + costs.records[tenure]
    is_known = has_stopped & (progress.last[tenure] != NONE)
    position[ended] = np.where(is_known, handled, np.nan)
    return stop_ms, is_slow, position


def _of_groups_with_stops(tenures: Tenures) -> tuple[Tenures, Ints]:
    """The tenures of groups whose members departed or were slow, because other members did not stop
    while they owned a partition.  The second result is the number of each tenure among these
    tenures; NONE stands for tenures of the other groups.
    """
    evidence = (tenures.departed_ms, tenures.heard_ms, tenures.polled_ms)
    may_stop = np.logical_or.reduce([each != NONE for each in evidence])
    chosen = np.isin(tenures.group, tenures.group[may_stop])
    numbers = np.where(chosen, np.cumsum(chosen) - 1, NONE)
    fields = {field.name: getattr(tenures, field.name)[chosen] for field in fields_of(Tenures)}
    return Tenures(**fields), numbers


def _outlasting(part: Ints, until_ms: Ints) -> Flags:
    """The assignments except those that ended before an earlier assignment ended."""
    key = (part << 42) | until_ms
    latest = np.maximum.accumulate(key) if len(key) else key
    return np.asarray(key >= latest)
