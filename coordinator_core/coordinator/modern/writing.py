"""Writes the records of a request or timer: replay, append, answer; revert after a failure."""

from __future__ import annotations

from collections.abc import Callable

from coordinator_core.coordinator.log import Revert
from coordinator_core.coordinator.modern.records import ModernRecord
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors, UnexpectedState
from coordinator_core.protocol.messages import Request, Response


def write(
    turn: Turn,
    group_id: str,
    records: list[ModernRecord],
    on_failure: Callable[[], None] | None = None,
    then: Callable[[Errors], None] | None = None,
) -> None:
    """Replay the records, then append them; if the append fails, revert them and call on_failure.

    ``then`` is called in any case, with the append's error or NONE.

    Answer requests after this call, by ``answer``.
    """
    if not records:
        return
    try:
        reverts = replayed(turn, records)
    except UnexpectedState:
        for revert in reversed(turn.log.reverts):
            revert()
        raise
    encoded = [record.encoded() for record in records]

    def appended(error: Errors) -> None:
        if error is not Errors.NONE:
            for revert in reversed(reverts):
                revert()
            if on_failure is not None:
                on_failure()
        if then is not None:
            then(error)

    turn.log.append(group_id, turn.log.partition_of(group_id), encoded, appended)


def replayed(turn: Turn, records: list[ModernRecord]) -> list[Revert]:
    """Apply records to the groups; returns reverts, which must be called in reverse order."""
    turn.log.reverts = []
    for record in records:
        turn.handlers.replays[record.name](turn, record.key, record.value)
    reverts, turn.log.reverts = turn.log.reverts, []
    return reverts


def answer(
    turn: Turn, request: Request, response: Response, refusal: Callable[[Errors], Response]
) -> None:
    """Answer once all earlier appends have ended; ``refusal`` answers after a failed append."""
    errors = turn.era.group_store_errors
    turn.log.answer(request, response, lambda error: refusal(errors.get(error, error)))
