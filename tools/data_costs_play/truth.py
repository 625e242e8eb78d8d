"""What each rebalance cost the data, from the records that the consumers handled.

    .venv/bin/python -m tools.data_costs_play.truth FOLDER

Writes FOLDER/truth.json, and prints tables of it.  Times `..._s`: seconds after the script's begin.

- duplicates: handlings of a record that was handled before in this group, in the window in which
  they happened; by whom the record was handled before: same_process (pid),
  other_process_same_name (another life), other_process
- lag: records produced minus records handled for the first time; level: the highest lag of the
  steady window without its first 10 s, plus the records of one second
- catch_up_ms: from the window's begin to the first moment after its peak with lag <= level
- record_seconds: the integral of lag minus mean steady lag; record_seconds_all: of lag
- pauses: begin, end, partition and lag of intervals without a first handling while an unhandled
  record exists, of at least 2 s
- handovers: successive tenures of a partition; pause_ms: first handled by the new owner minus last
  handled by the old one; pause_fresh_ms: to the first record that was never handled before;
  wait_fresh_ms: the part of it with an unhandled record
- stuck: parts of such pauses of at least 10 s inside one tenure, with class
- poison: the record and its tries; lost: offsets below the highest handled one that nobody handled
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from tools.data_costs_play.evidence import Evidence, Group, Handling, Json, Tenure, read
from tools.data_costs_play.lag import Lag
from tools.data_costs_play.tables import tables

PAUSE_MS, LONGEST_PAUSE_MS, STUCK_MS = 2000, 1000, 10_000
STEADY, SETTLING_S = "steady", 10
# Number of records of other partitions that an owner must handle during a pause to count as busy.
BUSY = 5
_KINDS = ("same_process", "other_process_same_name", "other_process")


class Window(NamedTuple):
    name: str
    from_ms: int
    to_ms: int

    def has(self, at_ms: int) -> bool:
        return self.from_ms <= at_ms < self.to_ms

    def part_ms(self, from_ms: int, to_ms: int) -> int:
        return max(min(to_ms, self.to_ms) - max(from_ms, self.from_ms), 0)


class Pause(NamedTuple):
    from_ms: int
    to_ms: int
    partition: int
    lag: int


@dataclass(frozen=True)
class Duplicate:
    handling: Handling
    kind: str


def truth_of(folder: Path) -> dict[str, Json]:
    evidence = read(folder)
    t0_ms = evidence.begin["t0_wall_ms"]
    windows = _windows(evidence)
    (steady,) = [window for window in windows if window.name == STEADY]
    return {
        "play": evidence.begin["play"],
        "broker": evidence.begin["broker"],
        "t0_wall_ms": t0_ms,
        "windows": [
            {
                "window": window.name,
                "from_s": (window.from_ms - t0_ms) / 1000,
                "to_s": (window.to_ms - t0_ms) / 1000,
            }
            for window in windows
        ],
        "steady_level_from_s": (steady.from_ms - t0_ms) / 1000 + SETTLING_S,
        "steady_level_to_s": (steady.to_ms - t0_ms) / 1000,
        "produced": {
            topic: {str(partition): len(times) for partition, times in partitions.items()}
            for topic, partitions in evidence.produced_ms.items()
        },
        "groups": {
            group.name: GroupTruth(evidence, group, windows).figures() for group in evidence.groups
        },
    }


def _windows(evidence: Evidence) -> list[Window]:
    t0_ms = evidence.begin["t0_wall_ms"]
    names, begins = zip(*evidence.begin["windows"], strict=True)
    edges = [t0_ms + round(begin * 1000) for begin in begins] + [evidence.end_ms]
    return [Window(*each) for each in zip(names, edges[:-1], edges[1:], strict=True)]


class GroupTruth:
    def __init__(self, evidence: Evidence, group: Group, windows: list[Window]) -> None:
        self._evidence, self._group, self._windows = evidence, group, windows
        self._t0_ms, self._end_ms = evidence.begin["t0_wall_ms"], evidence.end_ms
        self._produced_ms = evidence.produced_ms[group.conf["topic"]]
        (steady,) = [window for window in windows if window.name == STEADY]
        self._steady = steady.from_ms + SETTLING_S * 1000, steady.to_ms
        self._first_ms: dict[tuple[int, int], int] = {}
        self._duplicates = list(self._handle())
        # The times of records are coarser than the times of handling, but no record is handled
        # before it exists.
        handled_ms = {
            partition: [
                max(self._first_ms[partition, offset], at_ms)
                for offset, at_ms in enumerate(produced)
                if (partition, offset) in self._first_ms
            ]
            for partition, produced in self._produced_ms.items()
        }
        self._lag_by_partition = {
            partition: Lag(produced, handled_ms[partition])
            for partition, produced in self._produced_ms.items()
        }
        self._lag = Lag(chain(*self._produced_ms.values()), chain(*handled_ms.values()))

    def _handle(self) -> Iterator[Duplicate]:
        """The duplicates; notes the first handling of each record."""
        before: dict[tuple[int, int], list[Handling]] = {}
        for handling in self._group.handlings:
            record = handling.partition, handling.offset
            earlier = before.setdefault(record, [])
            if not earlier:
                self._first_ms[record] = handling.at_ms
            else:
                yield Duplicate(handling, _kind(handling, earlier))
            earlier.append(handling)

    def figures(self) -> dict[str, Json]:
        lag, conf = self._lag, self._group.conf
        return {
            **{name: conf[name] for name in ("topic", "client", "protocol", "mode", "delay_ms")},
            "total": self._total(),
            "steady_lag_mean": round(self._steady_mean, 2),
            "steady_lag_p99": lag.percentile(0.99, *self._steady),
            "steady_lag_max": lag.peak(*self._steady)[0],
            "level": self._level,
            "partition_level": {
                str(partition): [
                    round(_mean(each, *self._steady), 3),
                    self._partition_level(partition),
                ]
                for partition, each in self._lag_by_partition.items()
            },
            "windows": {window.name: self._window(window) for window in self._windows},
            "lost": self._lost,
            "stuck": list(self._stuck()),
            "scripted_stuck": list(self._scripted_stuck()),
            "poison": self._poison(),
            "commit_errors": Counter(
                str(line["error"])[:90]
                for line in self._group.notes
                if line["what"] == "commit failed"
            ),
            "pauses": [
                [self._s(each.from_ms), self._s(each.to_ms), each.partition, each.lag]
                for each in self._pauses
                if each.to_ms - each.from_ms >= PAUSE_MS
            ],
            "handovers": self._handovers,
        }

    def _s(self, at_ms: int | None) -> float | None:
        return None if at_ms is None else (at_ms - self._t0_ms) / 1000

    # -- lag ---------------------------------------------------------------------------------------

    @cached_property
    def _steady_mean(self) -> float:
        return _mean(self._lag, *self._steady)

    @cached_property
    def _level(self) -> int:
        rates = self._evidence.rates[self._group.conf["topic"]]
        return round(self._lag.peak(*self._steady)[0] + sum(rates))

    def _partition_level(self, partition: int) -> int:
        return max(1, self._lag_by_partition[partition].percentile(0.99, *self._steady))

    # -- totals and windows ------------------------------------------------------------------------

    def _total(self) -> dict[str, Json]:
        times = Counter((each.partition, each.offset) for each in self._group.handlings)
        produced = sum(map(len, self._produced_ms.values()))
        delays = sorted(
            max(at_ms - self._produced_ms[partition][offset], 0)
            for (partition, offset), at_ms in self._first_ms.items()
        )
        return {
            "produced": produced,
            "handled": times.total(),
            "distinct": len(times),
            **_counts(self._duplicates),
            "records_handled_twice_or_more": sum(number > 1 for number in times.values()),
            "most_often_one_record": max(times.values(), default=0),
            "lost": len(self._lost),
            "not_handled_at_end": produced - len(times) - len(self._lost),
            "handled_while_another_owned": self._zombies(),
            "delay_ms_median": delays[len(delays) // 2],
            "delay_ms_p99": delays[len(delays) * 99 // 100],
            "record_seconds": round(
                sum(self._record_seconds(window) for window in self._windows), 1
            ),
        }

    @cached_property
    def _lost(self) -> list[tuple[int, int]]:
        highest: dict[int, int] = {}
        for partition, offset in self._first_ms:
            highest[partition] = max(offset, highest.get(partition, -1))
        return [
            (partition, offset)
            for partition, last in sorted(highest.items())
            for offset in range(last)
            if (partition, offset) not in self._first_ms
        ]

    def _zombies(self) -> int:
        """Handlings by a process after a later owner's callback assigned."""
        count = 0
        for handling in self._group.handlings:
            begun = [
                each for each in self._tenures[handling.partition] if each.from_ms <= handling.at_ms
            ]
            is_owner = not begun or begun[-1].pid == handling.pid
            count += not is_owner and any(each.pid == handling.pid for each in begun)
        return count

    def _record_seconds(self, window: Window) -> float:
        seconds = (window.to_ms - window.from_ms) / 1000
        return self._lag.seconds(window.from_ms, window.to_ms) - self._steady_mean * seconds

    def _window(self, window: Window) -> dict[str, Json]:
        duplicates = [each for each in self._duplicates if window.has(each.handling.at_ms)]
        handovers = [each for each in self._handovers if each["window"] == window.name]
        waits = [each["pause_ms"] for each in handovers if "pause_ms" in each]
        span = window.from_ms, window.to_ms
        own = [(each, window.part_ms(each.from_ms, each.to_ms)) for each in self._pauses]
        own = [(each, ms) for each, ms in own if ms]
        long = [(each, ms) for each, ms in own if ms >= PAUSE_MS]
        peak, peak_ms = self._lag.peak(*span)
        caught_up_ms = None
        if peak > self._level:
            caught_up_ms = self._lag.first_at_most(self._level, peak_ms, window.to_ms)
        by_partition = Counter(str(each.handling.partition) for each in duplicates)
        return {
            "handled": sum(window.has(each.at_ms) for each in self._group.handlings),
            **_counts(duplicates),
            "duplicates_by_partition": dict(sorted(by_partition.items())),
            "handovers": len(handovers),
            "handovers_moved": sum(each["moved"] for each in handovers),
            "pause_ms_median": round(median(waits)) if waits else None,
            "pause_ms_max": max(waits, default=None),
            "paused_partition_ms": sum(ms for _, ms in long),
            "longest_pause_ms": max((ms for _, ms in own if ms >= LONGEST_PAUSE_MS), default=0),
            "partitions_paused": len({each.partition for each, _ in long}),
            "handover_pause_ms_sum": sum(waits),
            "peak_lag": peak,
            "lag_at_begin": self._lag.at(window.from_ms),
            "lag_at_end": self._lag.at(window.to_ms),
            "above_level_ms": self._lag.ms_above(self._level, *span),
            "catch_up_ms": None if caught_up_ms is None else caught_up_ms - window.from_ms,
            "never_above_level": peak <= self._level,
            "record_seconds": round(self._record_seconds(window), 1),
            "record_seconds_all": round(self._lag.seconds(*span), 1),
        }

    # -- pauses and handovers ----------------------------------------------------------------------

    @cached_property
    def _pauses(self) -> list[Pause]:
        """Of any length, until the script stops all processes."""
        pauses = []
        stop_ms = self._windows[-1].from_ms
        for partition, produced in self._produced_ms.items():
            lag = self._lag_by_partition[partition]
            firsts = sorted(
                at_ms for (number, _), at_ms in self._first_ms.items() if number == partition
            )
            for since_ms, until_ms in zip([0, *firsts], [*firsts, stop_ms], strict=True):
                begin_ms, until_ms = max(since_ms, self._t0_ms), min(until_ms, stop_ms)
                if lag.at(begin_ms) == 0:
                    place = bisect_right(produced, begin_ms)
                    begin_ms = produced[place] if place < len(produced) else until_ms
                if begin_ms < until_ms:
                    pauses.append(Pause(begin_ms, until_ms, partition, lag.before(until_ms)))
        return sorted(pauses)

    @cached_property
    def _tenures(self) -> dict[int, list[Tenure]]:
        by_partition: dict[int, list[Tenure]] = defaultdict(list)
        for tenure in self._group.tenures:
            by_partition[tenure.partition].append(tenure)
        return by_partition

    @cached_property
    def _handovers(self) -> list[dict[str, Json]]:
        handovers = [
            self._handover(old, new) for own in self._tenures.values() for old, new in pairwise(own)
        ]
        return sorted(handovers, key=lambda each: (each["ended_s"], each["partition"]))

    def _handover(self, old: Tenure, new: Tenure) -> dict[str, Json]:
        lag = self._lag_by_partition[old.partition]
        last = self._last_of(old)
        own = self._in_tenure(new)
        fresh = next((each for each in own if self._is_first(each)), None)
        duplicates = sum(
            each.handling.pid == new.pid
            and each.handling.partition == new.partition
            and new.from_ms <= each.handling.at_ms <= new.to_ms
            for each in self._duplicates
        )
        window = next((each for each in self._windows if each.has(old.to_ms)), self._windows[-1])
        handover = {
            "partition": old.partition,
            "window": window.name,
            "ended": old.ended,
            "ended_s": self._s(old.to_ms),
            "assigned_s": self._s(new.from_ms),
            "old": old.process,
            "old_pid": old.pid,
            "new": new.process,
            "new_pid": new.pid,
            "moved": old.process != new.process,
            "old_handled_none": not self._in_tenure(old),
            "last_old_s": self._s(last.at_ms) if last else None,
            "last_old_offset": last.offset if last else None,
            "first_new_s": self._s(own[0].at_ms) if own else None,
            "first_new_offset": own[0].offset if own else None,
            "first_fresh_s": self._s(fresh.at_ms) if fresh else None,
            "duplicates_by_new": duplicates,
        }
        if last and own:
            handover["pause_ms"] = own[0].at_ms - last.at_ms
            handover["lag_at_last_old"] = lag.at(last.at_ms)
            handover["lag_at_first_new"] = lag.at(own[0].at_ms)
            handover |= self._catch_up(old.partition, last.at_ms, own[0].at_ms)
        if last and fresh:
            handover["pause_fresh_ms"] = fresh.at_ms - last.at_ms
            wait_ms = lag.ms_above(0, last.at_ms, max(fresh.at_ms, last.at_ms))
            handover["wait_fresh_ms"] = wait_ms
        return handover

    def _catch_up(self, partition: int, last_ms: int, first_ms: int) -> dict[str, Json]:
        """From the old owner's last record; ``first_ms``: of the new owner's first one."""
        lag, level = self._lag_by_partition[partition], self._partition_level(partition)
        caught_up_ms = lag.first_at_most(level, max(last_ms, first_ms), self._end_ms)
        until_ms = self._end_ms if caught_up_ms is None else caught_up_ms
        return {
            "catch_up_ms": None if caught_up_ms is None else caught_up_ms - last_ms,
            "peak_lag": max(lag.at(last_ms), lag.peak(last_ms, until_ms)[0]),
        }

    @cached_property
    def _handled_by(self) -> dict[tuple[int, int], list[Handling]]:
        """By process and partition."""
        handled: dict[tuple[int, int], list[Handling]] = defaultdict(list)
        for each in self._group.handlings:
            handled[each.pid, each.partition].append(each)
        return handled

    def _last_of(self, old: Tenure) -> Handling | None:
        """The last record of the old owner: a zombie goes on after its tenure's end.  If it
        handled none, the last one that anybody handled before the end.
        """
        again_ms = [
            each.from_ms
            for each in self._tenures[old.partition]
            if each.pid == old.pid and each.from_ms > old.from_ms
        ]
        limit_ms = min(again_ms, default=self._end_ms + 1)
        handled = [
            each
            for each in self._handled_by[old.pid, old.partition]
            if old.from_ms <= each.at_ms < limit_ms
        ] or [
            each
            for each in self._group.handlings
            if each.partition == old.partition and each.at_ms <= old.to_ms
        ]
        return handled[-1] if handled else None

    def _in_tenure(self, tenure: Tenure) -> list[Handling]:
        return [
            each
            for each in self._handled_by[tenure.pid, tenure.partition]
            if tenure.from_ms <= each.at_ms <= tenure.to_ms
        ]

    def _is_first(self, handling: Handling) -> bool:
        return self._first_ms[handling.partition, handling.offset] == handling.at_ms

    # -- stuck partitions and poison pills ---------------------------------------------------------

    def _stuck(self) -> Iterator[dict[str, Json]]:
        paused = {
            (line["pid"], partition)
            for line in self._group.notes
            if line["what"] == "pause"
            for partition in line["partitions"]
        }
        for pause in self._pauses:
            for tenure in self._tenures[pause.partition]:
                from_ms = max(pause.from_ms, tenure.from_ms)
                to_ms = min(pause.to_ms, tenure.to_ms)
                if to_ms - from_ms < STUCK_MS:
                    continue
                others, again = self._handled_meanwhile(tenure, from_ms, to_ms)
                is_paused = (tenure.pid, tenure.partition) in paused
                yield {
                    "partition": pause.partition,
                    "from_s": self._s(from_ms),
                    "to_s": self._s(to_ms),
                    "owner": tenure.process,
                    "pid": tenure.pid,
                    "lag_at_end": self._lag_by_partition[pause.partition].at(to_ms),
                    "owner_handled_others": others,
                    "owner_reprocessed_this": again,
                    "class": _class(is_paused, others),
                }

    def _handled_meanwhile(self, tenure: Tenure, from_ms: int, to_ms: int) -> tuple[int, int]:
        """Records of other partitions, and records of this one handled before."""
        others = again = 0
        for (pid, partition), handled in self._handled_by.items():
            if pid == tenure.pid:
                count = sum(from_ms < each.at_ms < to_ms for each in handled)
                others += count * (partition != tenure.partition)
                again += count * (partition == tenure.partition)
        return others, again

    def _scripted_stuck(self) -> Iterator[dict[str, Json]]:
        resumed_ms = {
            (line["pid"], partition): line["wall_ms"]
            for line in self._group.notes
            if line["what"] == "resume"
            for partition in line["partitions"]
        }
        for line in self._group.notes:
            if line["what"] != "pause":
                continue
            for partition in line["partitions"]:
                at_ms, pid = line["wall_ms"], line["pid"]
                resume_ms = resumed_ms.get((pid, partition), self._end_ms)
                own = [each for each in self._tenures[partition] if each.pid == pid]
                tenure = next(each for each in own if each.from_ms <= at_ms <= each.to_ms)
                yield {
                    "partition": partition,
                    "from_s": self._s(at_ms),
                    "to_s": self._s(min(tenure.to_ms, resume_ms)),
                    "owner": tenure.process,
                    "pid": pid,
                }

    def _poison(self) -> dict[str, Json] | None:
        tries = [line for line in self._group.notes if line["what"] == "poison try"]
        if not tries:
            return None
        (record,) = {(line["partition"], line["offset"]) for line in tries}
        partition, offset = record
        times_ms = sorted(line["wall_ms"] for line in tries)
        return {
            "partition": partition,
            "offset": offset,
            "produced_s": self._s(self._produced_ms[partition][offset]),
            "tries": len(tries),
            "processes": len({line["pid"] for line in tries}),
            "names": sorted({line["client"] for line in tries}),
            "crashes": sum(line["what"] == "crash" for line in self._group.notes),
            "first_try_s": self._s(times_ms[0]),
            "last_try_s": self._s(times_ms[-1]),
            "handled_s": self._s(self._first_ms.get(record)),
            "list": [[self._s(line["wall_ms"]), line["client"], line["pid"]] for line in tries],
        }


def _kind(handling: Handling, earlier: Iterable[Handling]) -> str:
    if any(each.pid == handling.pid for each in earlier):
        return "same_process"
    if any(each.process == handling.process for each in earlier):
        return "other_process_same_name"
    return "other_process"


def _counts(duplicates: list[Duplicate]) -> dict[str, int]:
    kinds = Counter(each.kind for each in duplicates)
    return {"duplicates": len(duplicates), **{kind: kinds[kind] for kind in _KINDS}}


def _mean(lag: Lag, from_ms: int, to_ms: int) -> float:
    return lag.seconds(from_ms, to_ms) * 1000 / (to_ms - from_ms)


def _class(is_paused: bool, others: int) -> str:
    if is_paused:
        return "paused by script"
    return "owner busy with others" if others >= BUSY else "owner idle"


def write(folder: Path) -> Mapping[str, Any]:
    truth = truth_of(folder)
    (folder / "truth.json").write_text(json.dumps(truth, separators=(",", ":")) + "\n")
    return truth


if __name__ == "__main__":
    print("\n".join(tables(write(Path(sys.argv[1])))))
