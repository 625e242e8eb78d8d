"""The rows of handover_costs of some groups, from their evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coordinator_core.protocol.client_times import FETCH_MS
from coordinator_core.whatif.baseline import SHUT_DOWN_MS
from jobs.costs.arrays import EvidenceArrays, integers, numbers, rounded, times
from jobs.costs.failed_commits import with_failed_commits
from jobs.costs.lag import FOLLOWED_MS, LEAST_LAG, LEAST_LAG_MS, Lag, LogEnds, lag_of
from jobs.costs.pauses import pauses
from jobs.costs.rules import CommitProgress, Reprocessed, handled_again, progress_of, reprocessed
from jobs.costs.series import NONE, Flags, Floats, Ints, Series
from jobs.costs.tenures import Tenures, ints_of, tenures_of
from jobs.lake.dates import NEVER_MS

SLOW = "poll_timeout"


def costs_of(arrays: EvidenceArrays, schema: pa.Schema) -> pa.Table:
    t = tenures_of(arrays.owned, arrays.group, arrays.part)
    if not len(t.row):
        return schema.empty_table()
    ends = LogEnds(arrays.log_ends)
    p = progress_of(t, arrays.commits, arrays.habits)
    stored = _Stored(arrays.owned, t)
    p = stored.progress(p)
    r = _within_log(t, p, stored.reprocessed(_catching_up(t, p, reprocessed(t, p), ends)), ends)
    r = handled_again(t, p, with_failed_commits(t, p, r, arrays))
    lag = lag_of(t, p, r, arrays.commits, ends)
    return _table(arrays.owned, t, p, r, lag, arrays.commits, schema)


class _Stored:
    """Results of an earlier run for tenures that began before the commits that this run reads."""

    def __init__(self, owned: pa.StructArray, t: Tenures) -> None:
        self._owned, self._row = owned, pa.array(t.row)
        self._is_stored = self._ints("low_ms") != NONE

    def _ints(self, name: str) -> Ints:
        return ints_of(self._owned.field("stored_" + name).take(self._row))

    def _floats(self, name: str) -> Floats:
        taken = self._owned.field("stored_" + name).take(self._row)
        return np.asarray(pc.fill_null(taken, np.nan).to_numpy(zero_copy_only=False))

    def _or(self, stored: Any, computed: Any) -> Any:
        return np.where(self._is_stored, stored, computed)

    def progress(self, p: CommitProgress) -> CommitProgress:
        if not self._is_stored.any():
            return p
        last_ms = self._ints("last_ms")
        last = np.where(last_ms == NONE, NONE, 0)
        return replace(
            p,
            last=self._or(last, p.last),
            last_ms=self._or(last_ms, p.last_ms),
            last_offset=self._or(self._ints("offset"), p.last_offset),
            rate=self._or(self._floats("rate"), p.rate),
            interval_ms=self._or(self._ints("interval_ms"), p.interval_ms),
        )

    def reprocessed(self, r: Reprocessed) -> Reprocessed:
        if not self._is_stored.any():
            return r
        bounded = pc.fill_null(self._owned.field("stored_bounded").take(self._row), True)
        is_bounded = np.asarray(bounded.to_numpy(zero_copy_only=False), dtype=bool)
        until_ms = ints_of(self._owned.field("until_ms").take(self._row))
        return replace(
            r,
            stop_ms=self._or(until_ms, r.stop_ms),
            stop_low_ms=self._or(self._ints("low_ms"), r.stop_low_ms),
            stop_high_ms=self._or(self._ints("high_ms"), r.stop_high_ms),
            records=self._or(self._floats("records"), r.records),
            low=self._or(self._floats("low"), r.low),
            high=self._or(self._floats("high"), r.high),
            position=self._or(self._floats("handled"), r.position),
            handled=self._or(self._floats("handled"), r.handled),
            is_bounded=self._or(is_bounded, r.is_bounded).astype(bool),
            is_slow=self._or(False, r.is_slow).astype(bool),
        )


def _catching_up(t: Tenures, p: CommitProgress, r: Reprocessed, ends: LogEnds) -> Reprocessed:
    """For an owner that stopped while it handled its initial backlog, the speed of the owner counts
    instead of the rate of the partition.
    """
    behind = ends.offsets(t.part, p.last_ms) - p.last_offset
    is_first = (p.last_ms >= t.from_ms) & (p.earlier_ms < t.from_ms) & (p.earlier_ms != NONE)
    has_stopped = ((t.heard_ms != NONE) | t.is_replaced) & ~r.is_slow
    is_behind = is_first & has_stopped & ~r.is_stuck & (r.records > 0)
    is_behind &= behind > LEAST_LAG + LEAST_LAG_MS * p.rate
    took_ms = np.maximum(p.last_ms - t.from_ms - FETCH_MS, FETCH_MS)
    speed = np.maximum((p.last_offset - p.earlier_offset) / took_ms, p.rate)
    most = ends.offsets(t.part, r.stop_high_ms) - p.last_offset
    caught = np.fmin(speed * np.maximum(r.stop_ms - p.last_ms, 0), most)
    records = np.where(is_behind, caught, r.records)
    return replace(
        r,
        records=records,
        high=np.where(is_behind, np.fmax(r.high, most), r.high),
        position=np.where(is_behind, p.last_offset + records, r.position),
        handled=np.where(is_behind, p.last_offset + records, r.handled),
    )


def _within_log(t: Tenures, p: CommitProgress, r: Reprocessed, ends: LogEnds) -> Reprocessed:
    """Limit records to those in the log, plus one, because log end offsets are interpolated."""
    most = np.maximum(ends.offsets(t.part, r.stop_ms) - p.last_offset, 0) + 1
    latest = np.maximum(ends.offsets(t.part, r.stop_high_ms) - p.last_offset, 0) + 1
    records = np.where(np.isnan(r.records), np.nan, np.fmin(r.records, most))
    high = np.where(r.high > 0, np.fmax(np.fmin(r.high, latest), records), r.high)
    return replace(
        r,
        records=records,
        position=np.fmin(r.position, p.last_offset + records),
        handled=np.fmin(r.handled, p.last_offset + records),
        high=np.where(np.isnan(r.high), np.nan, high),
        low=np.where(np.isnan(r.low), np.nan, np.fmin(r.low, records)),
    )


def _table(
    owned: pa.StructArray,
    t: Tenures,
    p: CommitProgress,
    r: Reprocessed,
    lag: Lag,
    commits: Series,
    schema: pa.Schema,
) -> pa.Table:
    row = pa.array(t.row)
    next_row = pa.array(t.next_row, mask=t.next_row == NONE)
    shutdown_ms = ints_of(owned.field("shutdown_ms").take(row))
    is_shut_down = (shutdown_ms != NONE) & (shutdown_ms < t.next_ms)
    is_shut_down &= ~(t.is_migrated & (t.next_ms - shutdown_ms <= SHUT_DOWN_MS))
    ends_incarnation = is_shut_down | (t.is_migrated & (shutdown_ms != NONE))
    has_next = (t.next_row != NONE) & ~is_shut_down
    next_ms = np.where(has_next, t.next_ms, NONE)
    first = commits.first(t.part, np.where(has_next, t.next_ms, NEVER_MS))
    is_soon = has_next & (commits.times(first) <= next_ms + FOLLOWED_MS)
    first_ms = np.where(is_soon, commits.times(first), NONE)
    pause, pause_low, pause_high = pauses(t, p, r, next_ms, first_ms)
    has_commit = p.last != NONE

    def next_or_shutdown(of_next: str, of_shutdown: str, is_last: Flags) -> pa.Array:
        from_next = pc.if_else(pa.array(has_next), owned.field(of_next).take(next_row), None)
        return pc.if_else(pa.array(is_last), owned.field(of_shutdown).take(row), from_next)

    how = owned.field("how").take(row)
    inferred = pc.or_(
        owned.field("is_estimated").take(row), pa.array((np.nan_to_num(r.high) > 0) | r.is_slow)
    )
    columns = {
        **{
            name: owned.field(name).take(row)
            for name in (
                "cluster_id", "group_id", "incarnation", "topic", "partition", "process",
                "member_id", "evidence",
            )
        },
        "ended_date": next_or_shutdown("event_date", "shutdown_date", is_shut_down),
        "from_time": times(t.from_ms),
        "to_time": times(r.stop_ms),
        "to_time_low": times(r.stop_low_ms),
        "to_time_high": times(r.stop_high_ms),
        "how_ended": pc.if_else(pa.array(r.is_slow), SLOW, how),
        "last_commit_offset": numbers(p.last_offset, has_commit),
        "last_commit_time": times(p.last_ms),
        "handled_offset": integers(r.handled),
        "next_process": pc.if_else(
            pa.array(has_next), owned.field("process").take(next_row), None
        ),
        "next_time": times(next_ms),
        "next_commit_time": times(first_ms),
        "records_reprocessed": rounded(r.records, 1),
        "records_reprocessed_low": rounded(r.low, 1),
        "records_reprocessed_high": rounded(r.high, 1),
        "bounded": pa.array(r.is_bounded),
        "consumption_pause_ms": numbers(pause, has_commit & has_next),
        "consumption_pause_ms_low": numbers(pause_low, has_commit & has_next),
        "consumption_pause_ms_high": numbers(pause_high, has_commit & has_next),
        "peak_lag": integers(lag.peak),
        "catch_up_ms": integers(lag.catch_up_ms),
        "record_seconds": rounded(lag.record_seconds, 1),
        "records_per_second": rounded(p.rate * 1000, 3),
        "commit_interval_ms": pa.array(p.interval_ms.astype(np.int64)),
        "from_generation": owned.field("generation").take(row),
        # If the group migrated, the generation of the next owner belongs to another incarnation.
        "generation": next_or_shutdown("generation", "shutdown_generation", ends_incarnation),
        "estimated": inferred,
    }  # fmt: skip
    arrays = [columns[field.name].cast(field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)
