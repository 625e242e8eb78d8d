"""Participants from the steps of a scenario, and short names from member ids."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from coordinator_core.diagram.recording import (
    GroupEvent,
    Recording,
    RequestArrived,
    Steps,
    TraceEntry,
)

COORDINATOR, LOG, ADMIN = "coordinator", "log", "admin"
_ADMIN_OPS = frozenset(
    {"describe", "delete", "list", "consumer_describe", "share_describe", "streams_describe"}
)
_JOINS = frozenset({"join", "consumer_heartbeat", "share_heartbeat", "streams_heartbeat"})
_UNSHOWN = frozenset({"wait", "fault", "metadata", "group_config", "reload"})
_LETTERS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


class Names:
    """A participant's name is the letters of the step in which it first joined.

    A later join with its member id, or without one in a step of the same letters, is by the same
    participant: a process that restarted or lost its id.  The second member id of a is a2.
    """

    def __init__(self, recording: Recording) -> None:
        self._participants = _participants(recording)
        self._members = _numbered(self._owners(recording), recording.member_ids)
        self._topics = dict(_topic_names(recording.steps))
        self.columns = _columns(self._participants, recording)

    def of_step(self, step_id: str) -> str:
        return self._participants[step_id]

    def of_member(self, member_id: str | None) -> str:
        """The short name of a member id; an id that no answer contained stays as it is."""
        return self._members.get(member_id, member_id) if member_id else "no member"

    def is_first(self, member_id: str) -> bool:
        """Returns whether the id is its participant's first."""
        return self._members.get(member_id, "") in self._participants.values()

    def of_topic(self, topic_id: str) -> str:
        """The topic's name; an id that no step contains stays as it is."""
        return self._topics.get(topic_id, topic_id)

    def of_members(self, member_ids: Iterable[str]) -> str:
        return ", ".join(sorted(map(self.of_member, member_ids)))

    def _owners(self, recording: Recording) -> dict[str, str]:
        """Member id -> participant, from answers; for unanswered joins from the engine's events."""
        owners: dict[str, str] = {}
        step_id = ""
        for entry in recording.entries:
            if isinstance(entry, RequestArrived):
                step_id = entry.step_id
            elif isinstance(entry, GroupEvent) and recording.has_engine_events:
                if entry.event.kind in ("MEMBER_JOIN", "STATIC_REPLACED"):
                    owners.setdefault(entry.event.fields["member_id"], self._participants[step_id])
            elif isinstance(entry, TraceEntry) and entry.line.get("op") in _JOINS:
                owners.setdefault(entry.line["member"], self._participants[entry.line["to"]])
        return {member_id: who for member_id, who in owners.items() if member_id}


def _numbered(owners: Mapping[str, str], made: Sequence[str]) -> dict[str, str]:
    """Short names of member ids: a participant's name, then the name with 2, 3, ... appended."""
    place = {member_id: at for at, member_id in enumerate(made)}
    count: dict[str, int] = {}
    names = {}
    for member_id in sorted(owners, key=lambda each: place.get(each, len(place))):
        who = owners[member_id]
        count[who] = count.get(who, 0) + 1
        names[member_id] = who if count[who] == 1 else f"{who}{count[who]}"
    return names


def _participants(recording: Recording) -> dict[str, str]:
    """Step -> participant; of a trace alone, only the letters of its steps are known."""
    participants: dict[str, str] = {}
    for step_id in _step_ids(recording):
        step = recording.steps.get(step_id)
        participants[step_id] = (
            _letters(step_id) if step is None else _participant(step, recording.steps)
        )
    return participants


def _step_ids(recording: Recording) -> Iterable[str]:
    answered = [
        e.line["to"] for e in recording.entries if isinstance(e, TraceEntry) and "to" in e.line
    ]
    return [*recording.steps, *answered]


def _participant(step: Mapping[str, Any], steps: Steps) -> str:
    """Follow references to the step in which the member first joined."""
    seen = set()
    while (reference := _reference(step)) in steps and reference not in seen:
        seen.add(reference)
        step = steps[reference]
    letters = _letters(step["id"])
    if step["op"] == "fetch":  # has no member
        joined = {_letters(each["id"]) for each in steps.values() if each["op"] in _JOINS}
        return letters if letters in joined else ADMIN
    return ADMIN if step["op"] in _ADMIN_OPS else letters


def _reference(step: Mapping[str, Any]) -> str:
    """The step that the member field refers to; the first of several leavers."""
    member = step["members"][0][0] if step.get("members") else step.get("member", "")
    return str(member).removeprefix("@")


def _topic_names(steps: Steps) -> Iterator[tuple[str, str]]:
    """Topic id, in the form of records, and name."""
    for step in steps.values():
        for topic in step.get("topics") or () if step["op"] == "metadata" else ():
            yield urlsafe_b64encode(UUID(topic["id"]).bytes)[:22].decode(), topic["name"]


def _letters(step_id: str) -> str:
    match = _LETTERS.match(step_id)
    return step_id if match is None else match[0]


def _columns(participants: Mapping[str, str], recording: Recording) -> tuple[str, ...]:
    unshown = {id_ for id_, step in recording.steps.items() if step["op"] in _UNSHOWN}
    shown = dict.fromkeys(name for id_, name in participants.items() if id_ not in unshown)
    ordered = sorted(shown, key=lambda name: name == ADMIN)
    return (*ordered, COORDINATOR, LOG)
