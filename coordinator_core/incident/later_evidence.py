"""What is known of a moment by what came of it: silences, missing syncs, lost assignments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from coordinator_core.incident.evidence import LogEvent
from coordinator_core.incident.generation_evidence import GenerationEvidence
from coordinator_core.incident.members import MemberDirectory
from coordinator_core.incident.stimuli import ExpiredSession
from coordinator_core.protocol.errors import Errors


class LaterEvidence(NamedTuple):
    """What later chapters tell of a generation."""

    never_synced: Mapping[int, frozenset[str]]
    last_contact_ms: Mapping[str, int]
    replacements: Mapping[int, str]  # of a STATIC_REPLACED, by its place: the new member id


def later(chapters: Iterable[GenerationEvidence], members: MemberDirectory) -> LaterEvidence:
    """Who was put out of a generation for not syncing; who fell silent, and when."""
    told = list(chapters)
    never_synced, last_contact_ms = {}, {}
    for chapter in told:
        for silence in expired_sessions(chapter, members):
            last_contact_ms[silence.member_id] = silence.last_contact_ms
        start = chapter.start
        if start is not None and start.cause == "SYNC_TIMEOUT":
            never_synced[chapter.generation - 1] = frozenset(
                start.members or (start.member_id or "",)
            )
    events = [event for chapter in told for event in chapter.events]
    return LaterEvidence(never_synced, last_contact_ms, dict(_replacements(events)))


def _replacements(events: list[LogEvent]) -> Iterator[tuple[int, str]]:
    """A line names the old id only: the new one is the old one of the next."""
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
            last.popitem()  # it keeps its old id


def expired_sessions(
    chapter: GenerationEvidence, members: MemberDirectory
) -> Iterator[ExpiredSession]:
    """Of each member that expired."""
    for event in chapter.events:
        if event.event == "HEARTBEAT_EXPIRED":
            member_id = event.member_id or ""
            session_ms = members.at(member_id, chapter.generation - 1).session_timeout_ms
            yield ExpiredSession(member_id, event.at_ms - session_ms, event.where)


def error_of_append(line: LogEvent | None) -> Errors:
    """An error of the log that a broker tells its clients of as the line's reason does."""
    said = "" if line is None or line.reason is None else line.reason
    if "NOT_COORDINATOR" in said or "NotCoordinator" in said:
        return Errors.NOT_LEADER_OR_FOLLOWER
    if "REBALANCE_IN_PROGRESS" in said or "RebalanceInProgress" in said:
        return Errors.REQUEST_TIMED_OUT
    if "UNKNOWN_SERVER_ERROR" in said or "UnknownServer" in said:
        return Errors.RECORD_LIST_TOO_LARGE
    return Errors.NOT_ENOUGH_REPLICAS
