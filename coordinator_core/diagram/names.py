"""Who is who: a scenario's steps to participants, and member ids to short names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coordinator_core.diagram.entries import Asked, Said, Steps, Story, Told

COORDINATOR, LOG, ADMIN = "coordinator", "log", "admin"
_ADMIN_OPS = frozenset({"describe", "delete"})
_LETTERS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


class Names:
    """A participant is named by the letters of the step in which it first joined.

    Whoever joins under the id, or without one by a step of the same letters, is the same
    participant: a process that was restarted, or forgot its id.  Its second member id is a2.
    """

    def __init__(self, story: Story) -> None:
        self._participants = _participants(story)
        self._members = _numbered(self._owners(story), story.member_ids)
        self.columns = _columns(self._participants, story)

    def of_step(self, step_id: str) -> str:
        return self._participants[step_id]

    def of_member(self, member_id: str | None) -> str:
        """The short name of a member id; an id that no answer told, as it is."""
        return self._members.get(member_id, member_id) if member_id else "no member"

    def is_first(self, member_id: str) -> bool:
        """Whether it is its participant's first member id."""
        return self._members.get(member_id, "") in self._participants.values()

    def of_members(self, member_ids: Iterable[str]) -> str:
        return ", ".join(sorted(map(self.of_member, member_ids)))

    def _owners(self, story: Story) -> dict[str, str]:
        """Member id -> participant, as answers tell, and the engine of joins without an answer."""
        found: dict[str, str] = {}
        step_id = ""
        for entry in story.entries:
            if isinstance(entry, Asked):
                step_id = entry.step_id
            elif isinstance(entry, Told) and story.is_seen_inside:
                if entry.event.kind in ("MEMBER_JOIN", "STATIC_REPLACED"):
                    found.setdefault(entry.event.fields["member_id"], self._participants[step_id])
            elif isinstance(entry, Said) and entry.line.get("op") == "join":
                found.setdefault(entry.line["member"], self._participants[entry.line["to"]])
        return {member_id: who for member_id, who in found.items() if member_id}


def _numbered(owners: Mapping[str, str], made: Sequence[str]) -> dict[str, str]:
    """A participant's first member id is named as it is, its second has a 2, and so on."""
    place = {member_id: at for at, member_id in enumerate(made)}
    count: dict[str, int] = {}
    names = {}
    for member_id in sorted(owners, key=lambda each: place.get(each, len(place))):
        who = owners[member_id]
        count[who] = count.get(who, 0) + 1
        names[member_id] = who if count[who] == 1 else f"{who}{count[who]}"
    return names


def _participants(story: Story) -> dict[str, str]:
    """Step -> participant.  Of a trace alone only the letters of its steps are known."""
    found: dict[str, str] = {}
    for step_id in _step_ids(story):
        step = story.steps.get(step_id)
        found[step_id] = _letters(step_id) if step is None else _participant(step, story.steps)
    return found


def _step_ids(story: Story) -> Iterable[str]:
    answered = [e.line["to"] for e in story.entries if isinstance(e, Said) and "to" in e.line]
    return [*story.steps, *answered]


def _participant(step: Mapping[str, Any], steps: Steps) -> str:
    """Behind the references: the step in which the member first joined."""
    seen = set()
    while (reference := _reference(step)) in steps and reference not in seen:
        seen.add(reference)
        step = steps[reference]
    letters = _letters(step["id"])
    if step["op"] == "fetch":  # says nothing of a member
        joined = {_letters(each["id"]) for each in steps.values() if each["op"] == "join"}
        return letters if letters in joined else ADMIN
    return ADMIN if step["op"] in _ADMIN_OPS else letters


def _reference(step: Mapping[str, Any]) -> str:
    """The step that the member field points to; of leaves by several, the first."""
    member = step["members"][0][0] if step.get("members") else step.get("member", "")
    return str(member).removeprefix("@")


def _letters(step_id: str) -> str:
    found = _LETTERS.match(step_id)
    return step_id if found is None else found[0]


def _columns(participants: Mapping[str, str], story: Story) -> tuple[str, ...]:
    silent = {id_ for id_, step in story.steps.items() if step["op"] in ("wait", "fault")}
    shown = dict.fromkeys(name for id_, name in participants.items() if id_ not in silent)
    ordered = sorted(shown, key=lambda name: name == ADMIN)
    return (*ordered, COORDINATOR, LOG)
