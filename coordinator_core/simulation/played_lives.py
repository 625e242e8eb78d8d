"""One group's process lives, played under any protocol, and the same measures for all of them.

A process life is started, stopped, killed, frozen, or temporarily does not poll (``Action``).  The
group's ``GroupSpec`` says the rest: protocol, client library, assignor, timeouts, static members,
and after which time a supervisor restarts a process whose client failed (``restart_ms``).

    measures = played(PlayedLives(era, config, topics, group, from_ms, to_ms), seed=1).measures

A prediction across protocols needs the same lives, another protocol, and comparable measures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.group_types import GROUP_TYPES
from coordinator_core.protocol.errors import Errors
from coordinator_core.simulation.cluster import SimulatedCluster
from coordinator_core.simulation.modern_truth import NOT_STABLE
from coordinator_core.simulation.outputs import TruthLine
from coordinator_core.simulation.ownership_times import OwnershipTimes
from coordinator_core.simulation.spec import ClusterSpec, Fleet, GroupSpec, Network, Topic


@dataclass(frozen=True, slots=True)
class PlayedLives:
    """``group`` with a ``script``; times in ms since the start.  Measures count from ``from_ms`` to
    ``to_ms``.
    """

    era: str
    config: CoordinatorConfig
    topics: tuple[Topic, ...]
    group: GroupSpec
    from_ms: int
    to_ms: int


class Measures(NamedTuple):
    """``rebalances`` are generations of a classic group that became stable, and targets of other
    groups.  ``not_stable_ms`` is the time in PreparingRebalance and CompletingRebalance, or in
    Assigning and Reconciling.  ``moved_partitions``: by records.  ``unowned_partition_ms`` is by
    the clients' callbacks and ends.  ``static_refused`` has process lives that ended as their id
    was in use.
    """

    rebalances: int
    not_stable_ms: int
    moved_partitions: int
    unowned_partition_ms: int
    static_refused: int


class Call(NamedTuple):
    """A callback; ``life`` counts the starts of the process."""

    at_ms: int
    process: str
    life: int
    kind: str
    partitions: tuple[tuple[str, int], ...]


class PlayedConversion(NamedTuple):
    """``step``: to_consumer, to_classic, ..., or why the group was not converted, as in truth."""

    at_ms: int
    step: str


class PlayedGroup(NamedTuple):
    """``counts`` are counts of the whole time: group_epochs, members_joined, members_left, ...;
    ``conversions`` are the conversions in the measured time; ``failures`` are process lives that
    ended because of an error, by the error's name.
    """

    measures: Measures
    calls: tuple[Call, ...]
    counts: Mapping[str, Any]
    conversions: tuple[PlayedConversion, ...] = ()
    failures: Mapping[str, int] = MappingProxyType({})


def played(lives: PlayedLives, *, seed: int, skips_idle: bool = True) -> PlayedGroup:
    """Play the lives with the clients against the coordinator; the same seed, the same result."""
    fleet = Fleet(
        name="lives",
        about="",
        length_ms=lives.to_ms + 1,
        seed=seed,
        cluster=ClusterSpec(
            era=lives.era,
            brokers=1,
            config=lives.config,
            append_ms=(1, 3),
            load_ms=0,
            failover_ms=500,
            segment_bytes=100 << 20,
        ),
        network=Network(1, 2),
        topics=lives.topics,
        groups=(lives.group,),
        faults=(),
    )
    cluster = SimulatedCluster(
        fleet, 0, seed, skips_idle=skips_idle, traces=False, log_lines=False, commits=False
    )
    counter = MeasureCounter(lives.from_ms, lives.to_ms)
    for output in cluster.run():
        if type(output) is TruthLine:
            counter.take(output.truth)
    return counter.result()


class MeasureCounter:
    """Counts the measures of a simulated group between two times.  ``owned`` counts the time
    without an owner; None means the whole period between these times.
    """

    def __init__(self, from_ms: int, to_ms: int, owned: OwnershipTimes | None = None) -> None:
        self._from_ms, self._to_ms = from_ms, to_ms
        self._owned = OwnershipTimes(self._within) if owned is None else owned
        self._owners: dict[tuple[str, int], str] = {}
        self._rebalances = self._not_stable_ms = self._moved = self._refused = 0
        self._since_ms: int | None = None
        self._calls: list[Call] = []
        self._counts: Mapping[str, Any] = {}
        self._conversions: list[PlayedConversion] = []
        self._upgraded_ms = 0
        self._failures: Counter[str] = Counter()

    def _within(self, since_ms: int, until_ms: int) -> int:
        return max(min(until_ms, self._to_ms) - max(since_ms, self._from_ms), 0)

    def take(self, truth: Mapping[str, Any]) -> None:
        kind = truth["truth"]
        if kind == "callback":
            self._called(truth)
        elif kind == "end":
            self._ended(truth["process"], truth["at_ms"], truth["how"])
        elif kind == "generation":
            self._generation(truth)
        elif kind == "state":
            self._state(truth["state"], truth["at_ms"])
        elif kind == "moves":
            self._moved += truth["moves"] * self._is_within(truth["at_ms"])
            for topic, number in truth["assigned"]:
                self._owners[topic, number] = truth["process"]
        elif kind == "conversion":
            self._converted(PlayedConversion(truth["at_ms"], truth["step"]))
        elif kind == "group":
            self._counts = truth

    def _is_within(self, at_ms: int) -> bool:
        return self._from_ms <= at_ms <= self._to_ms

    def _ended(self, process: str, at_ms: int, how: str) -> None:
        self._owned.process_ended(process, at_ms)
        kind, _, error = how.partition(": ")
        if kind == "failed" and self._is_within(at_ms):
            self._refused += error == Errors.UNRELEASED_INSTANCE_ID.name
            self._failures[error] += 1

    def _converted(self, conversion: PlayedConversion) -> None:
        if conversion.step == "to_consumer":
            self._upgraded_ms = conversion.at_ms
        if self._is_within(conversion.at_ms):
            self._conversions.append(conversion)

    def _called(self, truth: Mapping[str, Any]) -> None:
        change = self._owned.assigned if truth["callback"] == "assigned" else self._owned.revoked
        partitions = tuple((topic, number) for topic, number in truth["partitions"])
        for partition in partitions:
            change(truth["process"], partition, truth["at_ms"])
        self._calls.append(
            Call(truth["at_ms"], truth["process"], truth["life"], truth["callback"], partitions)
        )

    def _state(self, state: str, at_ms: int) -> None:
        if self._since_ms is not None:
            self._not_stable_ms += self._within(self._since_ms, at_ms)
        self._since_ms = at_ms if state in NOT_STABLE else None

    def _generation(self, truth: Mapping[str, Any]) -> None:
        if GROUP_TYPES[truth.get("group_type", CLASSIC.name)].has_epochs:
            self._rebalances += self._is_within(truth["joined_ms"])
            return
        is_stable = truth["outcome"] == "stable"
        ended_ms = truth["assigned_ms"] if is_stable else truth["ended_ms"]
        if truth["outcome"] == "empty":
            ended_ms = truth["joined_ms"]
        prepared_ms = truth["preparing_ms"]
        if ended_ms is None and prepared_ms is not None and self._upgraded_ms >= prepared_ms:
            ended_ms = self._upgraded_ms  # The upgrade completed a rebalance.
        if prepared_ms is not None:
            until_ms = self._to_ms if ended_ms is None else ended_ms
            self._not_stable_ms += self._within(prepared_ms, until_ms)
        if is_stable:
            self._assigned(truth)

    def _assigned(self, truth: Mapping[str, Any]) -> None:
        counts = self._is_within(truth["assigned_ms"])
        self._rebalances += counts
        clients = {member["member_id"]: member["client_id"] for member in truth["members"]}
        for member_id, partitions in truth["assignment"].items():
            for topic, number in partitions:
                owner = clients[member_id]
                moved = self._owners.get((topic, number), owner) != owner
                self._moved += counts and moved
                self._owners[topic, number] = owner

    def result(self) -> PlayedGroup:
        self._owned.close(self._to_ms)
        measures = Measures(
            self._rebalances,
            self._not_stable_ms,
            self._moved,
            self._owned.unowned_ms,
            self._refused,
        )
        return PlayedGroup(
            measures,
            tuple(self._calls),
            self._counts,
            tuple(self._conversions),
            self._failures,
        )
