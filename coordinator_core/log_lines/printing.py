"""Event -> message or line, in the wording of a version of Kafka."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import schemas.log_lines as data
from coordinator_core.log_lines.calendar import printed
from coordinator_core.log_lines.kafka_versions import coordinator_of, holds_in
from coordinator_core.log_lines.templates import Fields, Template
from coordinator_core.log_lines.wordings import Wording, line_wordings, of_version, reason_wordings

_SHOWN_LEVELS = ("INFO", "WARN", "ERROR")
# Optional fields, whose missing values are printed as "none" by default.
_OPTIONAL: Fields = {
    "instance_id": None,
    "client_reason": None,
    "new_leader_instance_id": None,
}


def render_reason(cause: str, version: str, *, step: str | None = None, **fields: object) -> str:
    """The reason text of a version for a cause class; fields are the fields of ParsedReason.

    ``step`` distinguishes wordings of one cause: STATIC_UPDATE protocol; CONVERT leave, stale and
    static.
    Raises ValueError if the version has no wording for the cause, or a field is missing.
    """
    for wording in of_version(reason_wordings(), version):
        if wording.cause == cause and wording.step == step:
            return wording.template.form({**_OPTIONAL, **fields}, wording.coordinator)
    raise ValueError(f"Kafka {version} logs no reason for cause {cause}")


def render_message(event: str, version: str, **fields: object) -> str:
    """Prefix, message and logger: ``[GroupCoordinator 0]: Stabilized ... (kafka.coordinator...)``.

    ``version``: of Kafka.  Fields are the fields of ParsedEvent, with ``broker_id`` and, from 0.11
    on, ``topic_partition``.  REBALANCE_START takes ``reason``, or ``cause`` with the fields of its
    reason (and ``reason_step``).  ``step`` and ``protocol`` select a wording of the event;
    default: the first whose fields are all present.  OTHER requires a ``step``; ``instance_id``
    and ``client_reason`` are optional. Raises ValueError if the version has no wording for the
    event, or a field is missing.
    """
    wording = _wording_of(event, version, fields)
    if wording is None:
        step = fields.get("step") or ""
        raise ValueError(f"Kafka {version} logs no line for {event} {step}".rstrip())
    return _render(wording, version, fields)


def render_line(event: str, version: str, *, local_ms: int, **fields: object) -> str | None:
    """The whole line, ``[2024-05-01 10:00:00,123] INFO ...``, or None if the version logs none.

    A broker prints INFO and above.  ``local_ms`` is ms since 1970-01-01T00:00 on the broker's
    clock.
    """
    wording = _wording_of(event, version, fields)
    if wording is None or wording.level not in _SHOWN_LEVELS:
        return None
    return f"[{printed(local_ms)}] {wording.level} {_render(wording, version, fields)}"


def _wording_of(event: str, version: str, fields: Mapping[str, object]) -> Wording | None:
    """The version's first wording with this step and protocol whose fields are all present."""
    step, protocol = fields.get("step"), fields.get("protocol")
    wordings = [
        wording
        for wording in _by_event(version).get(event, ())
        if (wording.step == step if step else event != "OTHER")
        and (
            wording.protocol in (protocol, None)
            if event == "OTHER"
            else _may_name(wording, protocol)
        )
    ]
    if not wordings and event not in {wording.event for wording in line_wordings()}:
        raise ValueError(f"unknown event {event!r}")
    available = {*_OPTIONAL, *fields}
    if "cause" in fields:
        available.add("reason")
    printable = [wording for wording in wordings if wording.template.fields <= available]
    if protocol or step == "classic":  # Lines of static members contain the instance id.
        is_static = fields.get("instance_id") is not None
        printable.sort(
            key=lambda wording: (
                wording.protocol != protocol,
                ("instance_id" in wording.template.fields) != is_static,
            )
        )
    return next(iter(printable), wordings[0] if wordings else None)


def _may_name(wording: Wording, protocol: object) -> bool:
    return wording.protocol == protocol or "protocol" in wording.template.fields


@cache
def _by_event(version: str) -> Mapping[str, tuple[Wording, ...]]:
    """A version's wordings by event, those logged at INFO and above first."""
    wordings = sorted(
        of_version(line_wordings(), version), key=lambda w: w.level not in _SHOWN_LEVELS
    )
    events = dict.fromkeys(wording.event for wording in wordings)
    return {event: tuple(w for w in wordings if w.event == event) for event in events}


def _render(wording: Wording, version: str, fields: Mapping[str, object]) -> str:
    values = {**_OPTIONAL, **fields}
    if "{reason}" in wording.template.text and "reason" not in values:
        values["reason"] = _reason_from(version, values)
    name, prefix = _logger(version, wording.logger)
    message = wording.template.form(values, wording.coordinator)
    return f"{prefix.form(values, wording.coordinator)}{message} ({name})"


_REASON_FIELDS = {
    "member_id", "instance_id", "members", "state", "error", "client_reason", "group_id",
    "member_count", "max_size",
}  # fmt: skip


def _reason_from(version: str, fields: Mapping[str, object]) -> str:
    cause, step = fields.get("cause"), fields.get("reason_step")
    if not isinstance(cause, str) or not (step is None or isinstance(step, str)):
        raise ValueError("missing field: this wording requires reason, or cause")
    values = {name: value for name, value in fields.items() if name in _REASON_FIELDS}
    return render_reason(cause, version, step=step, **values)


@cache
def _logger(version: str, logger: str) -> tuple[str, Template]:
    """Full name of a logger class in a version, and the prefix of its messages."""
    for entry in _named(data.loggers(coordinator_of(version)), logger):
        if holds_in(entry["versions"], version):
            return entry["name"], Template(entry["prefix"])
    raise ValueError(f"Kafka {version} has no logger {logger}")


def _named(loggers: Iterable[Mapping[str, str]], logger: str) -> list[Mapping[str, str]]:
    return [entry for entry in loggers if entry["logger"] == logger]
