"""Generations and causes that only clients logged -> the group's episodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from coordinator_core.client_history.generations import ClientGeneration
from coordinator_core.coordinator.group_types import GROUP_TYPES
from coordinator_core.episodes.evidence import EMPTY, Cause, Rebalance
from coordinator_core.episodes.inference import Episode, infer_episodes


def episodes_of_clients(
    generations: Sequence[ClientGeneration], causes: Iterable[Cause]
) -> list[Episode]:
    """The episodes of these generations and of causes without a generation."""
    made = {(each.incarnation, each.generation) for each in generations if each.generation}
    own = [each for each in causes if (each.incarnation, each.generation) in made or _is_lone(each)]
    # No client knows the host of another client: the process name, which is unique, identifies the
    # process.
    return infer_episodes(
        _rebalances(generations, own),
        (each._replace(client_id=each.process) for each in own),
    )


def _is_lone(cause: Cause) -> bool:
    """Returns whether the log names no generation; returns are then unknown, so a leave says
    nothing.
    """
    return cause.generation == 0 and cause.cause != "LEAVE"


def _rebalances(
    generations: Sequence[ClientGeneration], causes: Sequence[Cause]
) -> Iterator[Rebalance]:
    times: dict[tuple[int, int], int] = {}
    for cause in causes:
        key = cause.incarnation, cause.generation
        times[key] = min(cause.at_ms or 0, times.get(key, cause.at_ms or 0))
    previous: ClientGeneration | None = None
    for each in generations:
        begun = each.preparing_ms, each.joined_ms, times.get((each.incarnation, each.generation))
        from_ms = min((ms for ms in begun if ms is not None), default=0)
        ended = [ms for ms in (each.joined_ms, each.stable_ms) if ms is not None]
        both = each.preparing_ms, each.stable_ms
        # Modern groups begin with a group epoch from 1 to 3.
        has_epochs = GROUP_TYPES[each.group_type].has_epochs
        is_first = 0 < each.generation <= (3 if has_epochs and previous is None else 1)
        yield Rebalance(
            incarnation=each.incarnation,
            generation=each.generation,
            from_ms=from_ms,
            to_ms=max([from_ms + (each.open_ms or 0), *ended]),
            outcome=each.outcome,
            not_stable_ms=None if both[0] is None or both[1] is None else both[1] - both[0],
            member_count=each.member_count or len(each.members),
            continues=previous is not None and previous.outcome == "superseded",
            group_type=each.group_type,
            was_empty=is_first or (previous is not None and previous.outcome == EMPTY),
            is_first_seen=previous is None and each.generation > 1 and not is_first,
            open_ms=each.open_ms,
        )
        previous = each
