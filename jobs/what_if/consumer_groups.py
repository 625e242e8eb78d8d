"""The evidence of one group that has, or had, the consumer protocol, and its observed figures, by
DuckDB.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

from coordinator_core.coordinator.era_evidence import InferredEra
from coordinator_core.epochs import History
from coordinator_core.epochs.evidence import Partition
from coordinator_core.epochs.handovers import ACTIVE
from coordinator_core.epochs.heartbeats import Timing
from coordinator_core.epochs.memberships import Membership
from coordinator_core.epochs.process_ends import EXPIRED, Ends
from coordinator_core.incident import explain, incarnations
from coordinator_core.whatif import Baseline, Figures
from coordinator_core.whatif.baseline import ConsumerSettings
from coordinator_core.whatif.consumer_baseline import (
    ClassicTime,
    ConsumerEvidence,
    consumer_baseline_of,
)
from coordinator_core.whatif.figures import Converted
from jobs.epochs.evidence import OTHER_EVENTS, RECORD_COLUMNS, played_rows
from jobs.epochs.lives import processes_of
from jobs.replay.group_rows import FOREVER_MS, Row, group_rows, quoted, rows

_LINE_COLUMNS = (
    "event", "event_generation", "step", "reason", "client_reason", "protocol", "members",
)  # fmt: skip
# A record of a member has its subscribed topics under this name.
_MEMBER_RECORD = "ConsumerGroupMemberMetadata"
_TARGET_RECORD = "ConsumerGroupTargetAssignmentMetadata"
_REFUSED = "STATIC_REFUSED"
# Earlier commits of a member that departed show nothing.
_RECENT_MS = 120_000


class ConsumerGroup:
    """``is_converted``: whether it also had members of the classic protocol."""

    def __init__(self, lake: str, cluster_id: str, group_id: str) -> None:
        self._lake, self._cluster_id, self._group_id = lake, cluster_id, group_id
        self._cluster = f"cluster_id = {quoted(cluster_id)}"
        self._of_group = f"{self._cluster} AND group_id = {quoted(group_id)}"
        self._classic_sessions_ms = self._sessions_of_classic_members()
        self.is_converted = bool(self._classic_sessions_ms)

    def baseline(self, *, era: str | None, from_ms: int | None, to_ms: int | None) -> Baseline:
        """Raises NotAConsumerGroup if no process or no assigned partition is known."""
        timing = self._timing()
        settings = ConsumerSettings(timing.session_ms, timing.interval_ms, self._assignor())
        until = rows(
            self._lake,
            f"""SELECT epoch_ms(MAX(last)) AS at_ms FROM (
                SELECT MAX(append_time) AS last FROM group_records WHERE {self._cluster}
                UNION ALL SELECT MAX(append_time) FROM committed_offsets WHERE {self._cluster}
                UNION ALL SELECT MAX(event_time) FROM group_events WHERE {self._cluster})""",
        )
        evidence = ConsumerEvidence(
            self._era(era),
            settings,
            processes_of([*self._rebalances(), *self._causes(timing), *self._silences()])[0],
            self._counts(),
            self._subscriptions(),
            until[0]["at_ms"] or 0,
            self._classic_time(era) if self.is_converted else None,
        )
        return consumer_baseline_of(self._group_id, evidence, from_ms=from_ms, to_ms=to_ms)

    def _sessions_of_classic_members(self) -> dict[str, int]:
        """By member id, of classic groups and of classic members in a consumer group."""
        sessions = rows(
            self._lake,
            f"""SELECT member_id, session_timeout_ms FROM group_records
                WHERE {self._of_group} AND protocols IS NOT NULL
                UNION SELECT m.member_id, m.session_timeout_ms FROM (
                    SELECT UNNEST(members) AS m FROM group_metadata WHERE {self._of_group})
                ORDER BY ALL""",
        )
        return {row["member_id"]: row["session_timeout_ms"] for row in sessions}

    def _classic_time(self, era: str | None) -> ClassicTime:
        """An assignor that all classic members of a consumer group have, if it never was the
        protocol of a classic group.
        """
        evidence = group_rows(self._lake, self._cluster_id, self._group_id, 0, FOREVER_MS)
        own = incarnations(self._group_id, evidence.events, evidence.records)
        explained = explain(own, era=self._era(era).name)
        assignors = [
            record.protocol
            for each in explained.incarnations
            for record in each.incarnation.records
            if record.protocol
        ]
        return ClassicTime(
            explained, tuple(assignors[-1:] or self._supported()), self._classic_sessions_ms
        )

    def _supported(self) -> list[str]:
        """Of the last classic member of the consumer group."""
        last = rows(
            self._lake,
            f"""SELECT protocols FROM group_records WHERE {self._of_group}
                AND protocols IS NOT NULL ORDER BY log_offset DESC LIMIT 1""",
        )
        return list(last[0]["protocols"]) if last else []

    def observed(self, baseline: Baseline, unavailable_partition_ms: int) -> Figures:
        """The figures of the baseline's period."""
        within = f"BETWEEN {baseline.from_ms} AND {baseline.to_ms}"
        from_ms = f"GREATEST(epoch_ms(l.preparing_time), {baseline.from_ms})"
        done = "CASE WHEN g.group_type = 'classic' THEN g.stable_time ELSE g.joined_time END"
        not_stable = "COALESCE(l.join_ms, 0) + COALESCE(l.sync_ms, 0)"
        (counted,) = rows(
            self._lake,
            f"""SELECT
                COUNT(*) FILTER (epoch_ms({done}) {within}) AS rebalances,
                SUM(c.partitions_moved) FILTER (epoch_ms(g.joined_time) {within}) AS moved,
                SUM(LEAST({not_stable}, GREATEST({baseline.to_ms} - {from_ms}, 0)))
                    FILTER (epoch_ms(l.preparing_time) {within}) AS not_stable_ms
            FROM (SELECT * FROM generations WHERE {self._of_group} AND joined_time IS NOT NULL) g
            LEFT JOIN (SELECT * FROM churn WHERE {self._of_group}) c
                USING (incarnation, generation)
            LEFT JOIN (SELECT * FROM rebalance_latency WHERE {self._of_group}) l
                USING (incarnation, generation)""",
        )
        (refused,) = rows(
            self._lake,
            f"""SELECT COUNT(*) AS number FROM rebalance_causes WHERE {self._of_group}
                AND cause = '{_REFUSED}' AND epoch_ms(event_time) {within}""",
        )
        return Figures(
            int(counted["rebalances"]),
            int(counted["not_stable_ms"] or 0),
            int(counted["moved"] or 0),
            unavailable_partition_ms,
            int(refused["number"]),
        )

    def conversions(self, baseline: Baseline) -> list[Converted]:
        """Within the baseline's period: between generations of different types."""
        begin = "epoch_ms(COALESCE(preparing_time, joined_time))"
        converted = rows(
            self._lake,
            f"""SELECT at_ms, group_type FROM (
                SELECT {begin} AS at_ms, group_type, LAG(group_type) OVER (
                    ORDER BY incarnation, generation) AS previous
                FROM generations WHERE {self._of_group})
                WHERE previous <> group_type AND at_ms BETWEEN {baseline.from_ms}
                    AND {baseline.to_ms}
                ORDER BY at_ms""",
        )
        return [Converted(row["at_ms"], row["group_type"]) for row in converted]

    def _histories(self) -> list[History]:
        events = ", ".join(quoted(event) for event in OTHER_EVENTS)
        no_line = ", ".join(f"NULL AS {name}" for name in _LINE_COLUMNS)
        no_record = ", ".join(
            name if name in ("log_offset", "member_id") else f"NULL AS {name}"
            for name in RECORD_COLUMNS
        )
        records = rows(
            self._lake,
            f"""SELECT t.incarnation, t.seq, epoch_ms(t.event_time) AS time_ms, r.*, {no_line}
                FROM (SELECT {", ".join(RECORD_COLUMNS)} FROM group_records
                    WHERE {self._of_group}) r
                JOIN (SELECT * FROM timeline WHERE {self._of_group} AND log_offset IS NOT NULL) t
                    ON t.topic_partition = r.topic_partition AND t.log_offset = r.log_offset""",
        )
        lines = rows(
            self._lake,
            f"""SELECT incarnation, seq, epoch_ms(event_time) AS time_ms, {no_record},
                    {", ".join(_LINE_COLUMNS)}
                FROM timeline WHERE {self._of_group} AND event IN ({events})""",
        )
        incarnation = itemgetter("incarnation")
        return [
            played_rows(list(of_incarnation))
            for _, of_incarnation in groupby(
                sorted([*records, *lines], key=incarnation), key=incarnation
            )
        ]

    def _timing(self) -> Timing:
        """Of the incarnation with the most memberships."""
        most = max(self._histories(), key=lambda history: len(history.memberships))
        expired = [each for each in most.memberships if each.how == EXPIRED]
        commits = {(each.member_id, each.ended_ms or 0): self._commits(each) for each in expired}
        return Ends(most, commits).timing

    def _commits(self, membership: Membership) -> dict[Partition, list[int]]:
        """The last commits of the partitions that a member had."""
        had = frozenset() if membership.last_step is None else membership.last_step.assigned
        ended_ms = membership.ended_ms or 0
        committed = rows(
            self._lake,
            f"""SELECT t.topic_id, c.partition, epoch_ms(c.append_time) AS at_ms
                FROM (SELECT * FROM committed_offsets WHERE {self._of_group} AND NOT tombstone) c
                JOIN (SELECT * FROM topic_ids WHERE {self._cluster}) t USING (topic)
                WHERE epoch_ms(c.append_time) BETWEEN {ended_ms - _RECENT_MS} AND {ended_ms}
                ORDER BY c.append_time""",
        )
        commits: dict[Partition, list[int]] = {}
        for row in committed:
            partition = (ACTIVE, None, row["topic_id"], row["partition"])
            if partition in had:
                commits.setdefault(partition, []).append(row["at_ms"])
        return commits

    def _assignor(self) -> str | None:
        """That of the last target."""
        last = rows(
            self._lake,
            f"""SELECT protocol FROM generations
                WHERE {self._of_group} AND protocol IS NOT NULL AND group_type <> 'classic'
                ORDER BY incarnation DESC, generation DESC LIMIT 1""",
        )
        return last[0]["protocol"] if last else None

    def _era(self, requested: str | None) -> InferredEra:
        """4.4 writes when each target was computed, 4.1 does not."""
        if requested is not None:
            return InferredEra(requested, "as requested")
        newer = rows(
            self._lake,
            f"""SELECT 1 FROM group_records WHERE {self._of_group}
                AND record = '{_TARGET_RECORD}' AND timestamp_ms IS NOT NULL LIMIT 1""",
        )
        if newer:
            return InferredEra("4.4", "its targets have times")
        return InferredEra("4.1", "its targets have no times")

    def _rebalances(self) -> list[Row]:
        begin = "COALESCE(preparing_time, joined_time, stable_time, ended_time)"
        end = "COALESCE(stable_time, joined_time, ended_time, preparing_time)"
        return rows(
            self._lake,
            f"""SELECT 'rebalance' AS row, incarnation, generation, epoch_ms({begin}) AS from_ms,
                    epoch_ms({end}) AS to_ms, outcome
                FROM generations WHERE {self._of_group} AND {begin} IS NOT NULL""",
        )

    def _causes(self, timing: Timing) -> list[Row]:
        """With the session timeout of the group, but for classic members: requests of the consumer
        protocol do not have it.
        """
        causes = rows(
            self._lake,
            f"""SELECT 'cause' AS row, *, epoch_ms(event_time) AS at_ms
                FROM rebalance_causes WHERE {self._of_group} AND event_time IS NOT NULL""",
        )
        return [
            row
            | {
                "session_timeout_ms": self._classic_sessions_ms.get(
                    row["member_id"], timing.session_ms
                )
            }
            for row in causes
        ]

    def _silences(self) -> list[Row]:
        return rows(
            self._lake,
            f"""SELECT 'silence' AS row, from_process AS process, epoch_ms(from_time) AS from_ms,
                    epoch_ms(to_time) AS to_ms
                FROM ownership_gaps WHERE {self._of_group} AND to_time IS NOT NULL""",
        )

    def _counts(self) -> list[tuple[int, str, int]]:
        counts = rows(
            self._lake,
            f"""SELECT epoch_ms(g.joined_time) AS at_ms, a.topic, MAX(a.partition) + 1 AS count
                FROM (SELECT * FROM assignments WHERE {self._of_group}
                    AND COALESCE(is_target, TRUE)) a
                JOIN (SELECT * FROM generations WHERE {self._of_group}) g
                    USING (incarnation, generation)
                WHERE g.joined_time IS NOT NULL
                GROUP BY g.joined_time, a.topic ORDER BY 1, 2""",
        )
        return [(row["at_ms"], row["topic"], row["count"]) for row in counts]

    def _subscriptions(self) -> dict[str, tuple[str, ...]]:
        members = rows(
            self._lake,
            f"""SELECT m.member_id, m.subscribed_topics AS topics FROM (
                    SELECT UNNEST(members) AS m FROM group_metadata WHERE {self._of_group})
                UNION ALL SELECT member_id, topics FROM (
                    SELECT * FROM group_records WHERE {self._of_group}
                    AND record = '{_MEMBER_RECORD}' AND NOT tombstone ORDER BY log_offset)""",
        )
        return {row["member_id"]: tuple(row["topics"] or ()) for row in members}
