"""Records handled again and pauses where the tenures of a simulation end.

A tenure is the uninterrupted ownership of a partition by one process.  A client commits when it
gives a partition up or closes, so the next owner handles no record again.  A tenure ends without
this commit if the process was killed, was frozen until its session expired, or did not poll:

    owner       assigned ------- commits ------- stops
    next owner                                             assigned, fetches, begins at the commit

The stop is then the begin of the freeze or of the slow poll.  The time of a process' last commit
before its stop is unknown: the first seed has the expected time, the others draw one.  A tenure
that ends before its first commit also leaves what the tenures before it left: in a crash loop each
owner handles the same records.

A member of a cooperative group keeps its partitions while it waits for the response to JoinGroup.
If it closes then, librdkafka's final commit waits behind this request, on the same connection.  The
commit has the previous generation, so the coordinator refuses it.

Clients that commit each batch as soon as they have handled it leave only the records of a slow
application.  librdkafka commits in a thread of its own, also while the application does not poll;
all others commit in the application's poll.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from coordinator_core.protocol.client_times import FETCH_MS, HEARTBEAT_MS, commits_batches
from coordinator_core.protocol.messages import TopicPartition
from coordinator_core.simulation.random_draws import fraction, key_of


class Consumption(NamedTuple):
    """What a group's commits show.  ``rates`` are in records per second of each partition with
    commits; ``commit_interval_ms`` is the time between two commits of a partition;
    ``commits_while_slow`` says whether librdkafka clients commit while the application does not
    poll, as automatic commits do; ``pauses_ms``: observed, by topic, summed over partitions.
    ``catch_up_share`` says how many times as long as its pause a handover took until the partition
    had caught up; None: no log end offsets show the lag.
    """

    rates: Mapping[TopicPartition, float]
    commit_interval_ms: int
    commits_while_slow: bool = True
    pauses_ms: Mapping[str, int] = {}
    catch_up_share: float | None = None


class Uncommitted(NamedTuple):
    """A tenure that ended without a commit.  ``committed_ms`` is the time up to which records were
    committed when it began; None: the previous tenure ended without a commit, too.  ``is_slow``
    means that the application did not poll.  ``counts`` says whether it ended in the counted
    period.
    """

    process: str
    partition: TopicPartition
    from_ms: int
    stop_ms: int
    committed_ms: int | None
    is_slow: bool
    counts: bool

    def lost_ms(self, seed: int, interval_ms: int, committed_ms: float) -> float:
        """For how long before the stop nothing was committed; ``committed_ms`` is at the begin."""
        lasted_ms, uncommitted_ms = self.stop_ms - self.from_ms, self.stop_ms - committed_ms
        if seed > 1:
            # One commit contains all partitions of the process.
            since_ms = interval_ms * fraction(key_of(seed, self.process, self.stop_ms))
            return since_ms if since_ms < lasted_ms else uncommitted_ms
        within_ms = min(lasted_ms, interval_ms)
        probability = within_ms / interval_ms
        return probability * within_ms / 2 + (1 - probability) * uncommitted_ms


class PlayedHandovers(NamedTuple):
    """The handovers of the simulation with this seed.  ``pause_ms`` is from each stop until the
    next owner had its first records, or the end of the period, summed over partitions;
    ``longest_pause_ms`` is that of a partition that has a next owner; ``uncommitted`` is in order
    of time.
    """

    seed: int
    pause_ms: int
    longest_pause_ms: int
    uncommitted: Sequence[Uncommitted]

    def records_reprocessed(self, rates: Mapping[TopicPartition, float], interval_ms: int) -> float:
        committed_ms: dict[TopicPartition, float] = {}
        records = 0.0
        for each in self.uncommitted:
            before_ms = each.committed_ms
            since_ms = committed_ms[each.partition] if before_ms is None else before_ms
            if commits_batches(interval_ms) and not each.is_slow:
                since_ms = each.stop_ms
            elif each.stop_ms - each.from_ms > FETCH_MS:
                lost_ms = each.lost_ms(
                    seed=self.seed, interval_ms=interval_ms, committed_ms=since_ms
                )
                records += each.counts * rates[each.partition] * lost_ms / 1000
                since_ms = each.stop_ms - lost_ms
            committed_ms[each.partition] = since_ms
        return records


class _Tenure(NamedTuple):
    process: str
    from_ms: int
    committed_ms: int | None


class _Stop(NamedTuple):
    at_ms: int
    is_committed: bool
    is_slow: bool = False


class _Absence(NamedTuple):
    """A process is frozen, or its application does not poll."""

    from_ms: int
    to_ms: int
    is_slow: bool


# A member that is closed leaves within this time, unless its requests wait behind a JoinGroup.
_CLOSED_MS = 100


class HandoverCounter:
    """Takes the truth lines of a simulated group.

    ``idle`` has times in which the group was shut down, which are no pauses; ``partitions``: those
    that count; ``in_background`` is in processes whose clients commit while the application is
    slow; ``librdkafka`` is in processes with this library.
    """

    def __init__(
        self,
        from_ms: int,
        to_ms: int,
        *,
        seed: int,
        idle: Sequence[tuple[int, int]],
        partitions: Iterable[TopicPartition],
        in_background: frozenset[str],
        librdkafka: frozenset[str],
    ) -> None:
        self._from_ms, self._to_ms = from_ms, to_ms
        self._seed = seed
        self._idle = idle
        self._partitions = frozenset(partitions)
        self._in_background = in_background
        self._librdkafka = librdkafka
        self._tenures: dict[TopicPartition, _Tenure] = {}
        self._stops: dict[TopicPartition, _Stop] = {}
        self._absences: dict[str, _Absence] = {}
        self._closing: dict[str, list[tuple[TopicPartition, _Tenure, int]]] = {}
        self._pause_ms = self._longest_pause_ms = 0
        self._uncommitted: list[Uncommitted] = []

    def take(self, truth: Mapping[str, Any]) -> None:
        kind = truth["truth"]
        if kind == "callback":
            self._called(truth)
        elif kind == "action" and truth["action"] in ("freeze", "slow"):
            at_ms = truth["at_ms"]
            self._absences[truth["process"]] = _Absence(
                at_ms, at_ms + truth["length_ms"], truth["action"] == "slow"
            )
        elif kind == "action" and truth["action"] == "stop":
            self._closing[truth["process"]] = []
        elif kind == "end":
            self._closed(truth["process"], truth["at_ms"])
            owned = [p for p, each in self._tenures.items() if each.process == truth["process"]]
            for partition in owned:
                self._ended(partition, truth["at_ms"], commits=truth["how"] == "closed")

    def result(self) -> PlayedHandovers:
        """Partitions without a next owner pause until the end of the period."""
        pause_ms = self._pause_ms
        pause_ms += sum(self._pause(stop.at_ms, self._to_ms) for stop in self._stops.values())
        return PlayedHandovers(
            self._seed, pause_ms, self._longest_pause_ms, tuple(self._uncommitted)
        )

    def _called(self, truth: Mapping[str, Any]) -> None:
        process, at_ms, callback = truth["process"], truth["at_ms"], truth["callback"]
        for topic, number in truth["partitions"]:
            partition = topic, number
            tenure = self._tenures.get(partition)
            if partition not in self._partitions:
                continue
            if callback == "assigned":
                if tenure is None or tenure.process != process:
                    self._begins(partition, process, at_ms)
            elif tenure is not None and tenure.process == process:
                if process in self._closing:
                    self._closing[process].append((partition, tenure, at_ms))
                self._ended(partition, at_ms, commits=callback == "revoked")

    def _closed(self, process: str, at_ms: int) -> None:
        """The final commit was refused if the close had to wait."""
        for partition, tenure, stop_ms in self._closing.pop(process, ()):
            if process in self._librdkafka and at_ms - stop_ms > _CLOSED_MS:
                self._leave_uncommitted(partition, tenure, _Stop(stop_ms, False))

    def _begins(self, partition: TopicPartition, process: str, at_ms: int) -> None:
        if partition in self._tenures:  # The owner does not know yet that it lost the partition.
            self._ended(partition, at_ms, commits=False)
        stop = self._stops.pop(partition, None)
        committed_ms: int | None = at_ms
        if stop is not None:
            pause_ms = self._pause(stop.at_ms, at_ms + FETCH_MS)
            self._pause_ms += pause_ms
            self._longest_pause_ms = max(self._longest_pause_ms, pause_ms)
            committed_ms = stop.at_ms if stop.is_committed else None
        self._tenures[partition] = _Tenure(process, at_ms, committed_ms)

    def _pause(self, stop_ms: int, until_ms: int) -> int:
        is_shut_down = any(begin < until_ms and stop_ms < end for begin, end in self._idle)
        return max(until_ms - stop_ms, 0) if self._counts(stop_ms) and not is_shut_down else 0

    def _ended(self, partition: TopicPartition, at_ms: int, *, commits: bool) -> None:
        tenure = self._tenures.pop(partition)
        stop = _Stop(at_ms, commits)
        if not commits:
            stop = self._stop_of(tenure, at_ms)
        if stop.is_committed:
            self._stops[partition] = stop
        else:
            self._leave_uncommitted(partition, tenure, stop)

    def _leave_uncommitted(self, partition: TopicPartition, tenure: _Tenure, stop: _Stop) -> None:
        self._stops[partition] = stop
        self._uncommitted.append(
            Uncommitted(
                process=tenure.process,
                partition=partition,
                from_ms=tenure.from_ms,
                stop_ms=stop.at_ms,
                committed_ms=tenure.committed_ms,
                is_slow=stop.is_slow,
                counts=self._counts(stop.at_ms),
            )
        )

    def _stop_of(self, tenure: _Tenure, at_ms: int) -> _Stop:
        """When the owner stopped, for a tenure that ended without a final commit.

        After an absence a process learns with its next heartbeat that it was removed.
        """
        absence = self._absences.get(tenure.process)
        if absence is None or not tenure.from_ms <= absence.from_ms <= at_ms:
            return _Stop(at_ms, False)
        if at_ms > absence.to_ms + HEARTBEAT_MS:
            return _Stop(at_ms, False)
        is_committed = absence.is_slow and tenure.process in self._in_background
        return _Stop(absence.from_ms, is_committed, absence.is_slow)

    def _counts(self, at_ms: int) -> bool:
        return self._from_ms <= at_ms <= self._to_ms
