"""Facts about a generation that only later evidence shows: expiries, missing syncs, new ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from coordinator_core.incident.evidence import LogEvent
from coordinator_core.incident.generation_evidence import GenerationEvidence
from coordinator_core.incident.members import MemberDirectory
from coordinator_core.incident.stimuli import ExpiredSession
from coordinator_core.protocol.errors import Errors


class LaterEvidence(NamedTuple):
    """``never_synced`` has, by generation, the members removed because they did not sync;
    ``last_contact_ms`` has the time by member whose session expired; ``replacements`` has the new
    member id by event_seq of a STATIC_REPLACED.
    """

    never_synced: Mapping[int, frozenset[str]]
    last_contact_ms: Mapping[str, int]
    replacements: Mapping[int, str]


def later_evidence(
    generations: Iterable[GenerationEvidence], members: MemberDirectory
) -> LaterEvidence:
    generations = list(generations)
    never_synced, last_contact_ms = {}, {}
    for evidence in generations:
        for expired in expired_sessions(evidence, members):
            last_contact_ms[expired.member_id] = expired.last_contact_ms
        start = evidence.start
        if start is not None and start.cause == "SYNC_TIMEOUT":
            never_synced[evidence.generation - 1] = frozenset(
                start.members or (start.member_id or "",)
            )
    events = [event for evidence in generations for event in evidence.events]
    return LaterEvidence(never_synced, last_contact_ms, dict(_replacements(events)))


def _replacements(events: list[LogEvent]) -> Iterator[tuple[int, str]]:
    """STATIC_REPLACED names the old id only; the new id is the old id of the next replacement."""
    last: dict[str | None, int] = {}
    for event in events:
        if event.event == "STATIC_REPLACED":
            if event.instance_id in last and event.old_member_id:
                yield last[event.instance_id], event.old_member_id
            last.pop(event.instance_id, None)
            last[event.instance_id] = event.seq
        elif event.event == "STATIC_NEW":
            last.pop(event.instance_id, None)
        elif event.event == "STORE_FAILED" and event.step == "static" and last:
            last.popitem()  # the member keeps its old id


def expired_sessions(
    evidence: GenerationEvidence, members: MemberDirectory
) -> Iterator[ExpiredSession]:
    """The last contact was one session timeout before the expiry."""
    for event in evidence.events:
        if event.event == "HEARTBEAT_EXPIRED":
            member_id = event.member_id or ""
            session_ms = members.at(member_id, evidence.generation - 1).session_timeout_ms
            yield ExpiredSession(member_id, event.at_ms - session_ms, event.where)


def error_of_append(line: LogEvent | None) -> Errors:
    """An error of the append for which a broker logs and returns the error in the line's reason."""
    reason = "" if line is None or line.reason is None else line.reason
    if "NOT_COORDINATOR" in reason or "NotCoordinator" in reason:
        return Errors.NOT_LEADER_OR_FOLLOWER
    if "REBALANCE_IN_PROGRESS" in reason or "RebalanceInProgress" in reason:
        return Errors.REQUEST_TIMED_OUT
    if "UNKNOWN_SERVER_ERROR" in reason or "UnknownServer" in reason:
        return Errors.RECORD_LIST_TOO_LARGE
    return Errors.NOT_ENOUGH_REPLICAS
