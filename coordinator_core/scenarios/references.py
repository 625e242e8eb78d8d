"""Resolves references of a scenario's steps to answers to earlier steps.

The coordinator makes member ids and epochs, so a step names them by the step whose answer has them:
"@a1" is the member id, epoch or assignment of the answer to step a1, and "last" is the member's
last epoch or assignment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    JoinResponse,
    MemberHeartbeatResponse,
    Response,
    StreamsHeartbeatResponse,
)

Json = Any
Step = Mapping[str, Json]

_LAST = "last"
_FORGOTTEN = (Errors.NONE, Errors.FENCED_MEMBER_EPOCH, Errors.UNKNOWN_MEMBER_ID)
_ROLES = ("active", "standby", "warmup")


class MemberAnswer:
    """The values of a member in an answer; ``assignment`` None: unchanged."""

    __slots__ = ("assignment", "epoch", "member_id")

    def __init__(self, member_id: str, epoch: int, assignment: list[Json] | None) -> None:
        self.member_id = member_id
        self.epoch = epoch
        self.assignment = assignment


class References:
    """``names`` are names of topics, by id."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._answers: dict[str, MemberAnswer] = {}  # "@id"
        self._last_of: dict[tuple[str, str], MemberAnswer] = {}  # last answers by group and member

    def member(self, text: str | None) -> str:
        """The member id; text that refers to no answer is the member id itself."""
        answer = self._answers.get(text or "")
        return text or "" if answer is None else answer.member_id

    def epoch_of(self, step: Step, name: str, otherwise: int) -> int:
        value = step.get(name)
        if value is None:
            return otherwise
        if not isinstance(value, str):
            return int(value)
        if value == _LAST:
            last = self._last(step)
            return 0 if last is None else last.epoch
        answer = self._answers.get(value)
        return -1 if answer is None else answer.epoch

    def owned_rows(self, step: Step) -> list[Json] | None:
        value = step.get("owned")
        if not isinstance(value, str):
            return value
        answer = self._last(step) if value == _LAST else self._answers.get(value)
        return [] if answer is None or answer.assignment is None else answer.assignment

    def _last(self, step: Step) -> MemberAnswer | None:
        return self._last_of.get((step["group"], self.member(step.get("member"))))

    def keep(self, step: Step, response: Response) -> None:
        """Keep the answer to a step, if it has what steps may refer to."""
        if isinstance(response, JoinResponse):
            if response.error in (Errors.NONE, Errors.MEMBER_ID_REQUIRED):
                self._keep_answer(step, MemberAnswer(response.member_id, response.generation, None))
        elif isinstance(response, MemberHeartbeatResponse | StreamsHeartbeatResponse):
            epoch = self.epoch_of(step, "member_epoch", 0)
            if response.error is Errors.NONE and epoch >= 0:
                rows = response.assignment
                shown = None if rows is None else _rows_by_name(rows, self._names)
                answer = MemberAnswer(response.member_id or "", response.member_epoch, shown)
                self._keep_answer(step, answer)
            elif response.error in _FORGOTTEN:
                self._last_of.pop((step["group"], self.member(step["member"])), None)

    def _keep_answer(self, step: Step, answer: MemberAnswer) -> None:
        self._answers["@" + step["id"]] = answer
        key = step["group"], answer.member_id
        before = self._last_of.get(key)
        if answer.assignment is None and before is not None:
            answer = MemberAnswer(answer.member_id, answer.epoch, before.assignment)
        self._last_of[key] = answer


def _rows_by_name(rows: Iterable[Any], names: Mapping[str, str]) -> list[Json]:
    """Rows of topics with names for ids, or rows of tasks; sorted."""
    out = [[names.get(row[0], row[0]), *row[1:-1], sorted(row[-1])] for row in rows]
    return sorted(out, key=_row_order)


def _row_order(row: list[Json]) -> list[Json]:
    return [_ROLES.index(row[0]), *row[1:]] if len(row) == 3 else row
