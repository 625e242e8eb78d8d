"""The evidence of one group, and what follows from it: baseline, observed figures, conversions.

`regroup what-if` of one group and the sweep over all groups read the same kinds of evidence and
compute with this class.  `regroup what-if` reads by DuckDB, the sweep by the engine of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from coordinator_core.coordinator.era_evidence import EraEvidence, InferredEra
from coordinator_core.coordinator.eras import era_of_evidence
from coordinator_core.incident import Incarnation, explain, incarnations
from coordinator_core.incident.broker_settings import InferredDelay
from coordinator_core.incident.evidence import MetadataRecord
from coordinator_core.log_lines.line_versions import versions_of_logs
from coordinator_core.modern_history.heartbeats import INTERVAL_MS, SESSION_MS, Timing
from coordinator_core.modern_history.process_ends import Ends
from coordinator_core.whatif import Baseline, Figures, NotAConsumerGroup, baseline_of, observed
from coordinator_core.whatif.baseline import ConsumerSettings, idle_between_incarnations
from coordinator_core.whatif.consumer_baseline import (
    ClassicTime,
    ConsumerEvidence,
    consumer_baseline_of,
)
from coordinator_core.whatif.figures import Converted
from coordinator_core.whatif.handovers import Consumption
from coordinator_core.whatif.kafka_names import (
    CONSUMER_HEARTBEAT,
    CONSUMER_SESSION,
    INITIAL_DELAY,
)
from coordinator_core.whatif.known_settings import (
    DEFAULT,
    ConfiguredCluster,
    KnownSettings,
    configured_in,
)
from coordinator_core.whatif.readiness import (
    Blocker,
    blockers_of_clients,
    blockers_of_group,
    commits_without_members,
)
from coordinator_core.whatif.settings import CLASSIC_PROTOCOL, CONSUMER_PROTOCOL
from jobs.lake.evidence import Row, Rows
from jobs.modern_history import lives, tenures
from jobs.modern_history.evidence import LINES, RECORDS, played_rows

CLASSIC_KINDS = ("events", "records", "commits", "last_commits", lives.SILENCES)
# Kinds of evidence about groups that have, or had, another type than classic.
MODERN_KINDS = (
    RECORDS,
    LINES,
    tenures.REFUSALS,
    tenures.COMMITS,
    lives.REBALANCES,
    lives.CAUSES,
    "partition_counts",
    "generation_figures",
)
# Kinds of evidence about a period, which are read for all groups.
PERIOD_KINDS = DOWNTIME, COSTS = ("downtime", "partition_costs")
# One row per group for which the kinds of MODERN_KINDS are read.
MODERN_GROUPS = "modern_groups"
CLUSTER_KINDS = LAST_TIMES, TARGET_TIMES, BROKER_VERSIONS, CONFIGURATIONS = (
    *("last_times", "target_times", "broker_versions", "configurations"),
)
# Name of the subscribed topics in a member's record.
_MEMBER_RECORD = "ConsumerGroupMemberMetadata"
_REFUSED = "STATIC_REFUSED"
_in_order = itemgetter("incarnation", "generation")
_incarnation = itemgetter("incarnation")


class ClusterEvidence(NamedTuple):
    """``until_ms`` is the time of the last event of any group, or 0; ``of_era`` says what the
    records of all modern groups show of the era.  ``configured`` has settings in force.
    """

    until_ms: int
    of_era: EraEvidence
    configured: ConfiguredCluster = ConfiguredCluster()


def last_of(rows: Iterable[Any]) -> int:
    """Time of the last event; ``rows`` are the kind LAST_TIMES."""
    return max((row["at_ms"] or 0 for row in rows), default=0)


def era_evidence(target_times: Iterable[Any], broker_versions: Iterable[Any]) -> EraEvidence:
    """What records of targets and topics, and the brokers' logs, show about the era."""
    rows = list(target_times)
    return EraEvidence(
        versions=versions_of_logs(broker_versions),
        has_modern_records=any(row["targets"] for row in rows),
        has_topic_records=any(row["topics"] for row in rows),
        has_target_times=any(row["timed"] for row in rows),
    )


def cluster_evidence_of(
    last_times: Iterable[Any],
    target_times: Iterable[Any],
    broker_versions: Iterable[Any],
    configurations: Iterable[Any],
) -> ClusterEvidence:
    return ClusterEvidence(
        last_of(last_times),
        era_evidence(target_times, broker_versions),
        configured_in(configurations),
    )


class PredictionEvidence:
    """The evidence of one group.

    ``rows`` are the kinds CLASSIC_KINDS and PERIOD_KINDS; for a group of MODERN_GROUPS also
    MODERN_KINDS.
    """

    def __init__(self, group_id: str, rows: Rows, cluster: ClusterEvidence) -> None:
        self.group_id = group_id
        self._rows = rows
        self._cluster = cluster

    # -- of any group ------------------------------------------------------------------------------

    @property
    def types(self) -> list[str]:
        """Group types in the order of generations; without generations, in the order of records."""
        generations = sorted(self._of("generation_figures"), key=_in_order)
        rows = generations or self._of(RECORDS)
        return list(dict.fromkeys(row["group_type"] for row in rows)) or [CLASSIC_PROTOCOL]

    @property
    def last_type(self) -> str:
        """The type of the last generation; the protocol type if a classic group's members are not
        consumers.
        """
        generations = sorted(self._of("generation_figures"), key=_in_order)
        last: str = generations[-1]["group_type"] if generations else self.types[-1]
        if last != CLASSIC_PROTOCOL or not self.records:
            return last
        protocol_type = self.records[-1].protocol_type
        return CLASSIC_PROTOCOL if protocol_type == CONSUMER_PROTOCOL else protocol_type

    @property
    def has_only_commits(self) -> bool:
        return not self._of(RECORDS) and not self.incarnations and not self._logged

    @property
    def downtime_ms(self) -> int:
        return sum(row["downtime_ms"] for row in self._of(DOWNTIME))

    def baseline(
        self, *, era: str | None = None, from_ms: int | None = None, to_ms: int | None = None
    ) -> Baseline:
        """``era`` None: inferred.  Raises NotAConsumerGroup: the group cannot be simulated."""
        baseline = self._simulated_baseline(era, from_ms, to_ms)
        explained = baseline.explained
        delay = self._configured.of_brokers.get(INITIAL_DELAY)
        if delay is not None:
            explained = replace(explained, delay=InferredDelay(int(delay.value), delay.source))
        gaps = [(row["from_ms"], row["to_ms"]) for row in self._of(lives.SILENCES)]
        idle = idle_between_incarnations(
            baseline.processes, self._first_assignments_ms, baseline.idle, gaps
        )
        return replace(
            baseline,
            explained=explained,
            consumption=self._consumption,
            configured=self._configured,
            idle=tuple(idle),
        )

    @property
    def _first_assignments_ms(self) -> list[int]:
        """The first assignment of each incarnation after the first."""
        first_ms: dict[int, int] = {}
        for row in sorted(self._of("generation_figures"), key=_in_order):
            assigned_ms = _done_ms(row)
            if assigned_ms is not None:
                first_ms.setdefault(row["incarnation"], assigned_ms)
        for each in self.incarnations:
            records = [record for record in each.records if record.members]
            if records:
                first_ms.setdefault(each.number, records[0].joined_ms)
        return [assigned_ms for _, assigned_ms in sorted(first_ms.items())][1:]

    @property
    def _configured(self) -> KnownSettings:
        return self._cluster.configured.of(self.group_id)

    def _simulated_baseline(
        self, era: str | None, from_ms: int | None, to_ms: int | None
    ) -> Baseline:
        if not self._is_modern(from_ms, to_ms):
            return self._classic_baseline(era, from_ms, to_ms)
        if not set(self.types) <= {CLASSIC_PROTOCOL, CONSUMER_PROTOCOL}:
            raise NotAConsumerGroup(
                f"{self.group_id}: a group of type {', '.join(self.types)}; only classic and"
                " consumer groups can be predicted"
            )
        return self._consumer_baseline(era, from_ms, to_ms)

    def observed(self, baseline: Baseline) -> Figures:
        """The figures of the baseline's period, for which PERIOD_KINDS were read."""
        figures = self._observed(baseline)
        costs = self._of(COSTS)
        if not costs:
            return figures
        return figures._replace(
            # Round to tenths, because the last digits of a sum depend on the order of rows.
            records_reprocessed=round(round(sum(row["records_reprocessed"] for row in costs), 1)),
            consumption_pause_ms=sum(row["consumption_pause_ms"] or 0 for row in costs),
            catch_up_ms=max(
                (ms for row in costs if (ms := row["catch_up_ms"]) is not None), default=None
            ),
        )

    def _observed(self, baseline: Baseline) -> Figures:
        if baseline.consumer is None:
            return observed(baseline, self.downtime_ms)
        generations = [
            row for row in self._of("generation_figures") if row["joined_ms"] is not None
        ]
        refused = [row for row in self._of(lives.CAUSES) if row["cause"] == _REFUSED]
        return Figures(
            sum(_is_within(baseline, _done_ms(row)) for row in generations),
            sum(_not_stable_ms(baseline, row) for row in generations),
            sum(
                row["partitions_moved"] or 0
                for row in generations
                if _is_within(baseline, row["joined_ms"])
            ),
            self.downtime_ms,
            sum(_is_within(baseline, row["at_ms"]) for row in refused),
        )

    @property
    def _consumption(self) -> Consumption | None:
        """How the group consumes, or None if no tenure ended in the period, or without commits."""
        costs = self._of(COSTS)
        if not costs:
            return None
        interval_ms = round(sum(row["commit_interval_ms"] for row in costs) / len(costs))
        # Slow applications that commit themselves leave as many records as killed applications.
        expected = sum(row["slow_rate"] for row in costs) * interval_ms / 2000
        caught_ms, pause_ms = (
            sum(row[name] or 0 for row in costs) for name in ("caught_up_ms", "caught_pause_ms")
        )
        pauses_ms: Counter[str] = Counter()
        for row in costs:
            pauses_ms[row["topic"]] += row["consumption_pause_ms"] or 0
        return Consumption(
            rates={(row["topic"], row["partition"]): row["records_per_second"] for row in costs},
            commit_interval_ms=interval_ms,
            commits_while_slow=sum(row["slow_records"] for row in costs) <= expected / 2,
            pauses_ms=pauses_ms,
            catch_up_share=caught_ms / pause_ms if pause_ms else None,
        )

    def conversions(self, baseline: Baseline) -> list[Converted]:
        """Within the baseline's period: between generations of different types."""
        generations = sorted(self._of("generation_figures"), key=_in_order)
        return sorted(
            Converted(after["begin_ms"], after["group_type"])
            for before, after in pairwise(generations)
            if before["group_type"] != after["group_type"]
            and _is_within(baseline, after["begin_ms"])
        )

    def blockers(self, baseline: Baseline | None) -> list[Blocker]:
        """Reasons against a migration to the consumer protocol."""
        era = None if baseline is None else baseline.explained.era
        blockers = list(blockers_of_group(self.records, self._logged, era))
        if baseline is None:
            return blockers
        times = [(row["first_ms"], row["last_ms"]) for row in self._of("commits")]
        return [
            *blockers,
            *blockers_of_clients(baseline, self.records),
            *commits_without_members(baseline, *(times[0] if times else (None, None))),
        ]

    def _of(self, kind: str) -> list[Row]:
        return self._rows.get(kind, [])

    # -- evidence of the time in which the group was classic
    # ----------------------------------------

    @cached_property
    def incarnations(self) -> list[Incarnation]:
        return incarnations(self.group_id, self._of("events"), self._of("records"))

    @property
    def records(self) -> list[MetadataRecord]:
        """Those with members."""
        return [record for each in self.incarnations for record in each.records if record.members]

    @property
    def _logged(self) -> set[str]:
        """Events, steps and causes of its lines."""
        names = ("event", "step", "cause")
        return {row[name] for row in self._of("events") for name in names} - {None}

    @property
    def _offset_versions(self) -> set[int]:
        return {row["offset_version"] for row in self._of("commits")} - {None}

    def _classic_baseline(
        self, era: str | None, from_ms: int | None, to_ms: int | None
    ) -> Baseline:
        return baseline_of(
            self.incarnations,
            era=era,
            offset_versions=self._offset_versions,
            cluster=self._cluster.of_era,
            last_commit_ms={row["member_id"]: row["at_ms"] for row in self._of("last_commits")},
            silences=lives.silences_of(self._of(lives.SILENCES)),
            from_ms=from_ms,
            to_ms=to_ms,
            until_ms=self._cluster.until_ms,
        )

    # -- evidence of groups that have, or had, the consumer protocol
    # --------------------------------

    def _is_modern(self, from_ms: int | None, to_ms: int | None) -> bool:
        """Returns whether the group was not, or not always, classic in this period."""
        types = self.types
        if CLASSIC_PROTOCOL not in types:
            return True
        return any(
            row["group_type"] != CLASSIC_PROTOCOL
            and row["begin_ms"] is not None
            and (from_ms is None or from_ms <= row["begin_ms"])
            and (to_ms is None or row["begin_ms"] <= to_ms)
            for row in self._of("generation_figures")
        )

    def _consumer_baseline(
        self, requested: str | None, from_ms: int | None, to_ms: int | None
    ) -> Baseline:
        era = era_of_evidence(replace(self._cluster.of_era, has_modern_records=True))
        if requested is not None:
            era = InferredEra(requested, "as requested")
        timing = self._timing()
        timing = replace(
            timing,
            session_ms=self._configured.consumer_ms(CONSUMER_SESSION) or timing.session_ms,
            interval_ms=self._configured.consumer_ms(CONSUMER_HEARTBEAT) or timing.interval_ms,
        )
        sessions_ms = self._classic_sessions_ms()
        evidence = ConsumerEvidence(
            era=era,
            settings=self._consumer_settings(timing),
            processes=lives.processes_of(
                self._rows | {lives.CAUSES: self._causes(timing, sessions_ms)},
                self._last_polls,
            )[0],
            counts=sorted(
                (row["at_ms"], row["topic"], row["partitions"])
                for row in self._of("partition_counts")
            ),
            subscriptions=self._subscriptions(),
            until_ms=self._cluster.until_ms,
            classic=self._classic_time(era, sessions_ms) if sessions_ms else None,
        )
        return consumer_baseline_of(self.group_id, evidence, from_ms=from_ms, to_ms=to_ms)

    @cached_property
    def _ends(self) -> list[Ends]:
        """Ends of each incarnation; the incarnation with the most memberships first."""
        beyond = _by_incarnation([*self._of(tenures.REFUSALS), *self._of(tenures.COMMITS)])
        histories = {
            number: played_rows(rows)
            for number, rows in _by_incarnation([*self._of(RECORDS), *self._of(LINES)]).items()
        }
        numbers = sorted(histories, key=lambda each: -len(histories[each].memberships))
        commits = (
            tenures.with_refusals_and_commits(histories[number], beyond.get(number, []))
            for number in numbers
        )
        timing = self._configured.timing(CONSUMER_PROTOCOL)
        return [Ends(histories[n], own, timing) for n, own in zip(numbers, commits, strict=True)]

    def _timing(self) -> Timing:
        if not self._ends:
            raise NotAConsumerGroup(f"{self.group_id}: no records")
        return self._ends[0].timing

    @property
    def _last_polls(self) -> dict[tuple[str, int], int]:
        return {key: ms for ends in self._ends for key, ms in ends.last_polls().items()}

    def _consumer_settings(self, timing: Timing) -> ConsumerSettings:
        """Settings from the configurations of group and brokers, else from the times of records."""
        session = self._configured.of_consumer_group(CONSUMER_SESSION)
        heartbeat = self._configured.of_consumer_group(CONSUMER_HEARTBEAT)
        return ConsumerSettings(
            timing.session_ms,
            timing.interval_ms,
            self._assignor(),
            session.source if session else _shown(timing.session_ms, SESSION_MS),
            heartbeat.source if heartbeat else _shown(timing.interval_ms, INTERVAL_MS),
        )

    def _causes(self, timing: Timing, sessions_ms: Mapping[str, int]) -> list[Row]:
        """Causes with the session timeout of the group, except for classic members, because
        requests of the consumer protocol do not contain it.
        """
        return [
            row | {"session_timeout_ms": sessions_ms.get(row["member_id"], timing.session_ms)}
            for row in self._of(lives.CAUSES)
        ]

    def _classic_sessions_ms(self) -> dict[str, int]:
        """Session timeouts by member id, of classic groups and of classic members in a consumer
        group.
        """
        sessions_ms = {
            row["member_id"]: row["session_timeout_ms"]
            for row in self._of(RECORDS)
            if row["protocols"] is not None
        }
        for record in self.records:
            sessions_ms |= {each.member_id: each.session_timeout_ms for each in record.members}
        return sessions_ms

    def _classic_time(self, era: InferredEra, sessions_ms: Mapping[str, int]) -> ClassicTime:
        """An assignor that all classic members of a consumer group have, if it never was the
        protocol of a classic group.
        """
        explained = explain(self.incarnations, era=era.name)
        assignors = [
            record.protocol
            for each in explained.incarnations
            for record in each.incarnation.records
            if record.protocol
        ]
        return ClassicTime(explained, tuple(assignors[-1:] or self._supported()), sessions_ms)

    def _supported(self) -> list[str]:
        """The protocols of the last classic member of the consumer group."""
        members = [row for row in self._of(RECORDS) if row["protocols"] is not None]
        last = max(members, key=itemgetter("log_offset"), default=None)
        return [] if last is None else list(last["protocols"])

    def _assignor(self) -> str | None:
        """The assignor of the last target that has one."""
        named = [
            row
            for row in self._of("generation_figures")
            if row["protocol"] is not None and row["group_type"] != CLASSIC_PROTOCOL
        ]
        return max(named, key=_in_order)["protocol"] if named else None

    def _subscriptions(self) -> dict[str, tuple[str, ...]]:
        """Subscriptions by member id; the last subscription of each member."""
        members = [
            (row["member_id"], row["topics"])
            for row in sorted(self._of(RECORDS), key=itemgetter("log_offset"))
            if row["record"] == _MEMBER_RECORD and not row["tombstone"]
        ]
        of_classic = [
            (member["member_id"], member["subscribed_topics"])
            for row in sorted(self._of("records"), key=itemgetter("log_offset"))
            for member in row["members"] or ()
        ]
        return {member_id: tuple(topics or ()) for member_id, topics in [*of_classic, *members]}


def _shown(value_ms: int, default_ms: int) -> str:
    """A timing that is not the default follows from times of records."""
    return DEFAULT if value_ms == default_ms else "times of records"


def _by_incarnation(rows: Iterable[Row]) -> dict[int, list[Row]]:
    ordered = sorted(rows, key=_incarnation)
    return {number: list(same) for number, same in groupby(ordered, key=_incarnation)}


def _is_within(baseline: Baseline, at_ms: int | None) -> bool:
    return at_ms is not None and baseline.from_ms <= at_ms <= baseline.to_ms


def _done_ms(generation: Row) -> int | None:
    """A rebalance of a classic group is done when the group is Stable."""
    is_classic = generation["group_type"] == CLASSIC_PROTOCOL
    at_ms: int | None = generation["stable_ms" if is_classic else "joined_ms"]
    return at_ms


def _not_stable_ms(baseline: Baseline, generation: Row) -> int:
    """The time counts at most until the end of the period."""
    if not _is_within(baseline, generation["preparing_ms"]):
        return 0
    spent_ms: int = min(generation["not_stable_ms"], baseline.to_ms - generation["preparing_ms"])
    return spent_ms
