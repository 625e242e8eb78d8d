"""Event -> line: what a broker of an era prints, in that era's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import schemas.log_lines as data
from coordinator_core.log_lines.calendar import printed
from coordinator_core.log_lines.templates import Fields, Template, holds_in
from coordinator_core.log_lines.wordings import Wording, line_wordings, of_era, reason_wordings

_SHOWN_LEVELS = ("INFO", "WARN", "ERROR")
# Fields that are printed as none when nobody names them.
_MAY_BE_ABSENT: Fields = {
    "instance_id": None,
    "client_reason": None,
    "new_leader_instance_id": None,
}


def render_reason(cause: str, era: str, *, step: str | None = None, **fields: object) -> str:
    """The reason text of an era for a cause class; fields are those of ParsedReason.

    ``step`` tells a cause's several wordings apart: STATIC_UPDATE protocol; CONVERT leave, static.
    Raises ValueError where the era has no wording for the cause, or a field is missing.
    """
    for wording in of_era(reason_wordings(), era):
        if wording.cause == cause and wording.step == step:
            return wording.template.form({**_MAY_BE_ABSENT, **fields}, wording.coordinator)
    raise ValueError(f"no wording of era {era} for a rebalance because of {cause}")


def render_message(event: str, era: str, **fields: object) -> str:
    """Prefix, message and logger: ``[GroupCoordinator 0]: Stabilized ... (kafka.coordinator...)``.

    ``era``: 0.9, 0.10, 2.0, 2.5, 3.9 or 4.1.  Fields are those of ParsedEvent, with ``broker_id``
    and, from 0.11 on, ``topic_partition``.  REBALANCE_START takes ``reason``, or ``cause`` with the
    fields of its reason (and ``reason_step``).  ``step`` and ``protocol`` choose among an event's
    wordings; by default it is the first that prints what is given.  OTHER needs a ``step``.
    ``instance_id`` and ``client_reason`` are none unless given.
    Raises ValueError where the era has no wording for the event, or a field is missing.
    """
    wording = _wording_of(event, era, fields)
    if wording is None:
        raise ValueError(f"no wording of era {era} for {event} {fields.get('step') or ''}".rstrip())
    return _render(wording, era, fields)


def render_line(event: str, era: str, *, local_ms: int, **fields: object) -> str | None:
    """The whole line, ``[2024-05-01 10:00:00,123] INFO ...``; None where the era prints none.

    A broker prints INFO and above.  ``local_ms``: ms since 1970-01-01T00:00 on the broker's clock.
    """
    wording = _wording_of(event, era, fields)
    if wording is None or wording.level not in _SHOWN_LEVELS:
        return None
    return f"[{printed(local_ms)}] {wording.level} {_render(wording, era, fields)}"


def _wording_of(event: str, era: str, fields: Mapping[str, object]) -> Wording | None:
    """The first of an era's wordings that is of this step and protocol and prints what is given."""
    step, protocol = fields.get("step"), fields.get("protocol")
    wordings = [
        wording
        for wording in _by_event(era).get(event, ())
        if (wording.step == step if step else event != "OTHER")
        and (wording.protocol == protocol or "protocol" in wording.template.fields)
    ]
    if not wordings and event not in {wording.event for wording in line_wordings()}:
        raise ValueError(f"unknown event {event!r}")
    given = {*_MAY_BE_ABSENT, *fields}
    if "cause" in fields:
        given.add("reason")
    printable = (wording for wording in wordings if wording.template.fields <= given)
    return next(printable, wordings[0] if wordings else None)


@cache
def _by_event(era: str) -> Mapping[str, tuple[Wording, ...]]:
    """An era's wordings by event, those at INFO and above first."""
    wordings = sorted(of_era(line_wordings(), era), key=lambda w: w.level not in _SHOWN_LEVELS)
    events = dict.fromkeys(wording.event for wording in wordings)
    return {event: tuple(w for w in wordings if w.event == event) for event in events}


def _render(wording: Wording, era: str, fields: Mapping[str, object]) -> str:
    given = {**_MAY_BE_ABSENT, **fields}
    if "{reason}" in wording.template.text and "reason" not in given:
        given["reason"] = _reason_from(era, given)
    name, prefix = _logger(era, wording.logger)
    message = wording.template.form(given, wording.coordinator)
    return f"{prefix.form(given, wording.coordinator)}{message} ({name})"


_REASON_FIELDS = {
    "member_id", "instance_id", "members", "state", "error", "client_reason", "group_id",
    "member_count", "max_size",
}  # fmt: skip


def _reason_from(era: str, given: Mapping[str, object]) -> str:
    cause, step = given.get("cause"), given.get("reason_step")
    if not isinstance(cause, str) or not (step is None or isinstance(step, str)):
        raise ValueError("this wording prints reason: neither reason nor cause is given")
    values = {name: value for name, value in given.items() if name in _REASON_FIELDS}
    return render_reason(cause, era, step=step, **values)


@cache
def _logger(era: str, logger: str) -> tuple[str, Template]:
    """Full name and prefix of a logger class in an era."""
    version, coordinator = data.eras()[era]["version"], data.eras()[era]["coordinator"]
    for entry in _named(data.loggers(coordinator), logger):
        if holds_in(entry["versions"], version):
            return entry["name"], Template(entry["prefix"])
    raise ValueError(f"no logger {logger} in era {era}")


def _named(loggers: Iterable[Mapping[str, str]], logger: str) -> list[Mapping[str, str]]:
    return [entry for entry in loggers if entry["logger"] == logger]
