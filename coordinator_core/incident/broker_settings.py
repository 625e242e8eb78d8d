"""The broker's era and initial rebalance delay, inferred from the evidence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from coordinator_core.coordinator.era_evidence import NO_EVIDENCE, EraEvidence, InferredEra
from coordinator_core.coordinator.eras import ERAS, era_of_evidence
from coordinator_core.incident.evidence import Incarnation
from coordinator_core.incident.generation_evidence import GenerationEvidence
from coordinator_core.incident.members import MemberDirectory

DEFAULT_DELAY_MS = 3000
_DELAY_SLACK_MS = 300


def infer_era(
    incarnations: Iterable[Incarnation],
    offset_versions: Iterable[int] = (),
    cluster: EraEvidence = NO_EVIDENCE,
) -> InferredEra:
    """The engine's era nearest to the broker, by its log wordings and record versions.

    ``offset_versions`` are value versions of the group's offset commits.  ``cluster`` has versions
    of the brokers by their logs, and evidence of all modern groups, which distinguishes the eras
    that have modern groups.
    """
    incarnations = list(incarnations)
    records = [record for incarnation in incarnations for record in incarnation.records]
    events = [event for incarnation in incarnations for event in incarnation.events]
    own = era_of_evidence(
        EraEvidence(
            group_versions={each.version for each in records},
            offset_versions=set(offset_versions),
            reasons=[each.reason for each in events if each.reason],
            versions=cluster.versions,
            has_generation_0=any(each.generation == 0 for each in records),
        )
    )
    if not cluster.has_modern_records or ERAS[own.name].modern is None:
        return own
    of_cluster = era_of_evidence(cluster).name
    if of_cluster == own.name:
        return own
    return InferredEra(of_cluster, "records of the cluster's consumer groups")


class InferredDelay(NamedTuple):
    delay_ms: int
    why: str


def infer_initial_delay(
    incarnations: Iterable[tuple[list[GenerationEvidence], MemberDirectory]],
) -> InferredDelay:
    """group.initial.rebalance.delay.ms, by how long a new group waited for its members.

    Returns Kafka's default if it explains the wait, or if no first rebalance is logged.
    """
    for generations, members in incarnations:
        for evidence in generations:
            delay = _delay_of_first(evidence, members)
            if delay is not None:
                return delay
    return InferredDelay(DEFAULT_DELAY_MS, "Kafka's default: the first rebalance is not logged")


def _delay_of_first(evidence: GenerationEvidence, members: MemberDirectory) -> InferredDelay | None:
    start, joined = evidence.start, evidence.first("JOIN_COMPLETE")
    if evidence.generation != 1 or start is None or joined is None:
        return None
    first = start.member_id or (evidence.records[0].leader if evidence.records else None)
    if first is None:
        return None
    waited_ms = joined.at_ms - start.at_ms
    later = [
        each.at_ms - start.at_ms
        for each in evidence.events
        if each.event in ("MEMBER_JOIN", "STATIC_NEW") and start.seq < each.seq < joined.seq
    ]
    longest_ms = members.at(first, 1).rebalance_timeout_ms
    candidates = [DEFAULT_DELAY_MS, *(round(waited_ms / n, -2) for n in range(1, 6))]
    logs_joins = any(each.event in ("MEMBER_JOIN", "STATIC_NEW") for each in evidence.events)
    if not logs_joins and waited_ms % DEFAULT_DELAY_MS < _DELAY_SLACK_MS < waited_ms:
        return None  # The value is a multiple of Kafka's default.
    for delay_ms in map(int, candidates):
        slack_ms = _DELAY_SLACK_MS
        if (
            0 <= waited_ms - initial_wait_ms(delay_ms, longest_ms, later) < slack_ms
            or waited_ms < slack_ms
        ):
            inferred_ms = 0 if waited_ms < slack_ms else delay_ms
            why = f"generation 1 formed {waited_ms} ms after its rebalance started ({start.where})"
            return InferredDelay(inferred_ms, why)
    return None


def initial_wait_ms(delay_ms: int, rebalance_timeout_ms: int, joins_ms: Iterable[int]) -> int:
    """The time for which a new group waits (KIP-134) if members join ``joins_ms`` after its
    start.
    """
    ends_ms, round_ms = 0, delay_ms
    remaining_ms = max(rebalance_timeout_ms - delay_ms, 0)
    joins = sorted(joins_ms)
    while True:
        begins_ms, ends_ms = ends_ms, ends_ms + round_ms
        if not remaining_ms or not any(begins_ms <= each < ends_ms for each in joins):
            return ends_ms
        round_ms, remaining_ms = min(delay_ms, remaining_ms), max(remaining_ms - round_ms, 0)
        if not round_ms:
            return ends_ms
