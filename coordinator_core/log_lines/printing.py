"""Event -> line: what a broker of an era prints, in that era's words."""

from __future__ import annotations


def render_reason(cause: str, era: str, **fields: object) -> str:
    """The reason text of an era for a cause class; fields are those of ParsedReason.

    Raises ValueError where the era has no wording for the cause, or a field is missing.
    """
    raise NotImplementedError


def render_message(event: str, era: str, **fields: object) -> str:
    """Prefix, message and logger: ``[GroupCoordinator 0]: Stabilized group g ... (kafka.coordinator...)``.

    ``era``: 0.9, 0.10, 2.0, 2.5, 3.9 or 4.1.  Fields are those of ParsedEvent, and ``broker_id``.  REBALANCE_START
    takes ``reason``, or ``cause`` with the fields of its reason.  Optional fields that choose among wordings: ``step``.
    Raises ValueError where the era has no wording for the event, or a field is missing.
    """
    raise NotImplementedError


def render_line(event: str, era: str, *, local_ms: int, **fields: object) -> str | None:
    """The whole line, ``[2024-05-01 10:00:00,123] INFO ...``; None where the era prints nothing at INFO or above.

    ``local_ms``: ms since 1970-01-01T00:00 on the broker's wall clock.
    """
    raise NotImplementedError
